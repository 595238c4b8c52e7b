// One value in the device's layout.
#include "plan/feeds.h"

SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out,
                                  spyi_text *error) {
    spyi_text problem = { NULL, 0, 0 };
    bool good = leaf->kind->run->pack(leaf, v, out, &problem);
    if (!good) spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
    spyi_text_free(&problem);
    return good ? SPY_OK : SPY_ERROR_OUT_OF_RANGE;
}
