// Counts and finds parameters of a kernel's interface.
#include "backend/interface.h"

SPYI_FN spyi_kernel_base spyi_interface_counts(const spyi_interface *iface) {
    spyi_kernel_base counts;
    memset(&counts, 0, sizeof counts);
    counts.block_size = iface->block_size;
    for (uint32_t i = 0; i < iface->parameter_count; i++) {
        const spyi_parameter *p = &iface->parameters[i];
        if (spyi_takes_bindings(p)) counts.binding_count += p->count;
        counts.uniform_count += p->kind == SPYI_PARAMETER_UNIFORM;
        counts.value_count += p->kind == SPYI_PARAMETER_VALUES;
        counts.handles = counts.handles || p->kind == SPYI_PARAMETER_HANDLES;
    }
    return counts;
}

SPYI_FN bool spyi_interface_has(const spyi_interface *iface, spyi_parameter_kind kind) {
    for (uint32_t i = 0; i < iface->parameter_count; i++)
        if (iface->parameters[i].kind == kind) return true;
    return false;
}

SPYI_FN uint32_t spyi_interface_threads(const spyi_interface *iface) {
    return iface->group[0] * iface->group[1] * iface->group[2];
}

SPYI_FN const spyi_parameter *spyi_interface_find(const spyi_interface *iface, uint32_t number) {
    for (uint32_t i = 0; i < iface->parameter_count; i++) {
        const spyi_parameter *p = &iface->parameters[i];
        if (spyi_takes_bindings(p) && number >= p->number && number - p->number < p->count) return p;
    }
    return NULL;
}
