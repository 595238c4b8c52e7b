// Collects the names nearest to one that was not found, for "did you mean" in messages.
#include "data/type.h"

SPYI_FN void spyi_near_offer(spyi_near *near_names, const char *name) {
    size_t length = strlen(near_names->wanted);
    unsigned distance = spyi_edit_distance(near_names->wanted, name),
             most = (unsigned)(length / 3 < 2 ? 2 : length / 3);
    // Changing all characters of a short name would make any short name a near one.
    if (distance > most || distance >= length) return;
    for (uint32_t i = 0; i < near_names->count; ++i)
        if (strcmp(near_names->names[i], name) == 0)
            return; // the name is already there: it is another
                    // overload
    uint32_t at = near_names->count;
    while (at > 0 && near_names->distances[at - 1] > distance) --at;
    if (at == SPYI_NEAR_COUNT) return;
    if (near_names->count == SPYI_NEAR_COUNT) free(near_names->names[--near_names->count]);
    for (uint32_t i = near_names->count; i > at; --i) {
        near_names->names[i] = near_names->names[i - 1];
        near_names->distances[i] = near_names->distances[i - 1];
    }
    near_names->names[at] = spyi_strdup(name);
    near_names->distances[at] = distance;
    near_names->count++;
}

SPYI_FN void spyi_near_offer_builtin(spyi_near *near_names) {
    static const char *const scalars[] = { "float",   "half",     "double",   "int",      "uint",
                                           "bool",    "int8_t",   "uint8_t",  "int16_t",  "uint16_t",
                                           "int64_t", "uint64_t", "float4x4", "float3x3", "float2x2" };
    static const char *const vectors[] = { "float", "half", "double", "int", "uint", "bool" };
    char name[16];
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; ++i) spyi_near_offer(near_names, scalars[i]);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i)
        for (int n = 2; n <= 4; ++n) {
            snprintf(name, sizeof name, "%s%d", vectors[i], n);
            spyi_near_offer(near_names, name);
        }
}

SPYI_FN void spyi_near_text(spyi_near *near_names, spyi_text *out) {
    for (uint32_t i = 0; i < near_names->count; ++i) {
        spyi_text_add(out, "%s'%s'", i ? ", " : ", did you mean ", near_names->names[i]);
        free(near_names->names[i]);
    }
    if (near_names->count) spyi_text_add(out, "?");
    near_names->count = 0;
}
