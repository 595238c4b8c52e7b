// One value in the device's layout: the operations of a pack program that a leaf and its value alone decide.
#include "plan/feeds.h"

SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out,
                                  spyi_text *error) {
    spyi_text problem = { NULL, 0, 0 };
    bool good = leaf->kind->run->pack(leaf, v, out, &problem);
    if (!good) spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
    spyi_text_free(&problem);
    return good ? SPY_OK : SPY_ERROR_OUT_OF_RANGE;
}

// Of a shader parameter, which is not run over: all of the value's dimensions belong to its type.
static spy_status spyi_check_sizes(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    uint32_t wrong = spyi_leaf_wrong_size(leaf, v);
    if (wrong == leaf->consumed) return SPY_OK;
    spy_shape shape = spyi_value_shape(v);
    spyi_text_add(error, "'%s': expected %s, so dimension %u must be %lld, got shape ", leaf->path,
                  leaf->type->display, wrong, (long long)leaf->consumed_dims[wrong]);
    spyi_shape_text(&shape, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}

SPYI_FN spy_status spyi_pack_value(uint8_t op, const spyi_leaf *leaf, const spyi_value *v, uint8_t *out,
                                   spyi_text *error) {
    bool good = true;
    switch ((spyi_pack_op)op) {
    case SPYI_PACK_SCALAR: good = spyi_pack_scalar(leaf, v->arg, out); break;
    case SPYI_PACK_BYTES: spyi_type_to_device(leaf->type, out, v->arg->value.data, 1); break;
    case SPYI_PACK_INLINE: good = spyi_pack_inline(leaf, v->arg, out); break;
    case SPYI_PACK_SIZES: return spyi_check_sizes(leaf, v, error);
    default: return spyi_pack_leaf(leaf, v, out, error);
    }
    return good ? SPY_OK : spyi_does_not_fit(leaf, v, error);
}
