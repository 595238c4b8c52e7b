// The list of the kinds that recipes may name.
#include "kinds/internal.h"
#include "kinds/known.h"

SPYI_FN bool spyi_kind_is(const spyi_value_kind *kind, const char *name, uint32_t traits, uint8_t field_op) {
    return strcmp(kind->name, name) == 0 && kind->run->traits == traits && kind->run->field_op == field_op;
}

SPYI_FN const spyi_value_kind *spyi_kind_known(const char *name, uint32_t traits, uint8_t field_op) {
    static const spyi_value_kind *(*const known[])(void) = {
        spyi_number_kind_of, spyi_filling_kind_of, spyi_bytes_kind_of,        spyi_array_kind_of,
        spyi_upload_kind_of, spyi_tensor_kind_of,  spyi_new_kind_of,          spyi_readback_kind_of,
        spyi_kind_of_unused, spyi_unsized_kind_of, spyi_holder_kind_of,       spyi_pointer_kind_of,
        spyi_whole_kind_of,  spyi_view_kind_of,    spyi_buffer_kind_of,       spyi_texture_kind_of,
        spyi_texels_kind_of, spyi_sampler_kind_of, spyi_diff_texture_kind_of, spyi_weights_kind_of,
        spyi_handle_kind_of,
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (spyi_kind_is(known[i](), name, traits, field_op)) return known[i]();
    return NULL;
}
