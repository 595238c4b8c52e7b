// What a leaf is, told by the leaf alone.
#include "kinds/leaf.h"

SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf) {
    return leaf->source == SPYI_SOURCE_TENSOR || leaf->source == SPYI_SOURCE_UPLOAD ||
           leaf->source == SPYI_SOURCE_NEW || leaf->source == SPYI_SOURCE_READBACK;
}

SPYI_FN bool spyi_leaf_is_whole(const spyi_leaf *leaf) {
    return leaf->source == SPYI_SOURCE_KIND && (leaf->reads || leaf->writes);
}

SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf) {
    return leaf->type->kind == SPYI_TYPE_SCALAR || leaf->type->kind == SPYI_TYPE_VECTOR;
}
