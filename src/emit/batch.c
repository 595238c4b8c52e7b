// The prologue of calls that are nothing but a network: the whole kernel is one call of the batch engine
// (slang/mlp_batch_engine.slang), whose groups take all tiles of rows in turn. There is no element function.
#include "emit/internal.h"

SPYI_FN void spyi_batch_size(spyi_emit_state *s) {
    spyi_text why = { NULL, 0, 0 };
    spyi_batch batch;
    if (spyi_batch_of(s->bound, s->limits, &batch, &why)) {
        s->out->group_size = batch.threads;
        s->out->shared_bytes = batch.shared_bytes;
    }
    spyi_text_free(&why);
}

static const char *spyi_batch_name(const spyi_emit_state *s) {
    (void)s;
    return "a network";
}

static void spyi_batch_fields(spyi_emit_state *s) {
    spyi_add_field(s, SPYI_PACK_COUNT, 0, 0, 4, 4, "uint _count");
}

static void spyi_batch_body(spyi_emit_state *s) {
    spyi_text why = { NULL, 0, 0 };
    spyi_batch batch;
    if (spyi_batch_of(s->bound, s->limits, &batch, &why))
        spyi_text_add(&s->body,
                      "    // The groups of the batch engine take all tiles of rows in turn.\n"
                      "    spyi_mlp_forward<%u, %u>(spyi_block.%s._data, spyi_block.%s, spyi_block.%s, "
                      "spyi_block._count);\n",
                      batch.shape, batch.options, s->names[batch.network], s->names[batch.inputs],
                      s->names[batch.outputs]);
    spyi_text_free(&why);
}

SPYI_FN const spyi_prologue *spyi_batch_prologue(void) {
    static const spyi_prologue prologue = { spyi_batch_name, spyi_compute_head,   spyi_batch_fields,
                                            spyi_batch_body, spyi_compute_number, spyi_compute_index };
    return &prologue;
}
