// Kernels of backward calls with networks whose gradients each group sums in its shared memory (slang/mlp_matrix.slang: rooms). There are
// as many groups as the device runs at the same time; their threads take all elements in turn, whole warps together.
#include "emit/internal.h"

SPYI_FN void spyi_rooms_size(spyi_emit_state *s) {
    spyi_rooms rooms;
    if (spyi_rooms_of(s->bound, s->limits, &rooms)) s->out->shared_bytes = rooms.words * 4;
}

SPYI_FN void spyi_open_rooms(spyi_emit_state *s) {
    spyi_rooms rooms;
    if (!spyi_rooms_of(s->bound, s->limits, &rooms)) return;
    spyi_text_add(&s->body,
                  "    // Each group sums the gradients of the weights in its shared memory.\n"
                  "    spyi_open_rooms(%u);\n",
                  rooms.words);
    for (uint32_t i = 0; i < rooms.count; i++)
        spyi_text_add(&s->body, "    %s.spyi_open_room(spyi_block.%s._grad, %u, %u);\n",
                      spyi_spell(rooms.items[i].network), s->names[rooms.items[i].leaf], i,
                      rooms.items[i].first);
    spyi_text_add(&s->body,
                  "    spyi_meet();\n    [loop]\n    for (uint spy_at = spy_thread.x; spy_at / 32 * 32 < "
                  "spyi_block._count; spy_at += spyi_block._row)\n    {\n    spyi_meet_warp();\n");
}

SPYI_FN void spyi_close_rooms(spyi_emit_state *s) {
    spyi_rooms rooms;
    if (!spyi_rooms_of(s->bound, s->limits, &rooms)) return;
    spyi_text_add(&s->body, "    }\n    spyi_meet();\n");
    for (uint32_t i = 0; i < rooms.count; i++)
        spyi_text_add(&s->body, "    %s.spyi_pour(spyi_block.%s._grad, %u);\n",
                      spyi_spell(rooms.items[i].network), s->names[rooms.items[i].leaf],
                      rooms.items[i].first);
}
