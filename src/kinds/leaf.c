// Functions that need only the leaf.
#include "kinds/kind.h"

SPYI_FN void spyi_leaf_set_kind(spyi_leaf *leaf, const spyi_value_kind *kind) {
    leaf->kind = kind;
    leaf->traits = kind->run->traits;
}

SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf) {
    return (leaf->traits & SPYI_TRAIT_MEMORY) != 0;
}

SPYI_FN bool spyi_leaf_is_whole(const spyi_leaf *leaf) {
    return (leaf->reads || leaf->writes) && !spyi_leaf_is_resource(leaf);
}

SPYI_FN bool spyi_leaf_is_resource(const spyi_leaf *leaf) {
    return (leaf->traits & SPYI_TRAIT_RESOURCE) != 0;
}

SPYI_FN uint32_t spyi_leaf_wrong_size(const spyi_leaf *leaf, const spyi_value *value) {
    const int64_t *takes = leaf->consumed_dims;
    uint32_t d = 0;
    while (d < leaf->consumed && (takes[d] == -1 || value->dims[leaf->batch_rank + d] == takes[d])) d++;
    return d;
}

SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf) {
    return leaf->type->kind == SPYI_TYPE_SCALAR || leaf->type->kind == SPYI_TYPE_VECTOR;
}
