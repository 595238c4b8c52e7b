// Packs one leaf's value in the device's layout, and checks its sizes.
#include "plan/bound_inputs.h"

SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out,
                                  spyi_text *error) {
    spyi_text problem = { NULL, 0, 0 };
    bool good = leaf->kind->run->pack(leaf, v, out, &problem);
    if (!good) spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
    spyi_text_free(&problem);
    return good ? SPY_OK : SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN spy_status spyi_check_sizes(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    uint32_t wrong = spyi_leaf_wrong_size(leaf, v);
    if (wrong == leaf->consumed) return SPY_OK;
    spy_shape shape = spyi_value_shape(v);
    spyi_text_add(error, "'%s': expected %s, so dimension %u must be %lld, got shape ", leaf->path,
                  leaf->type->display, wrong, (long long)leaf->consumed_dims[wrong]);
    spyi_shape_text(&shape, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}
