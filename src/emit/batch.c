// The prologue of calls that are nothing but a network: the whole kernel is one call of the batch engine
// (slang/mlp_batch_engine.slang), whose groups take all tiles of rows in turn. There is no element function.
#include "emit/internal.h"

SPYI_FN void spyi_batch_size(spyi_emit_state *s) {
    const spyi_batch *batch = &s->bound->batch;
    s->out->group_size = s->key->finishes ? SPYI_BATCH_ADDERS : batch->threads;
    s->out->shared_bytes = s->key->finishes ? SPYI_BATCH_ADDERS / 32 * 33 * 4 : batch->shared_bytes;
}

static const char *spyi_batch_name(const spyi_emit_state *s) {
    return s->key->finishes ? "sums of a network's gradients"
           : s->bound->mode ? "a network's gradients"
                            : "a network";
}

static void spyi_batch_fields(spyi_emit_state *s) {
    if (s->bound->mode) spyi_add_field(s, SPYI_PACK_SUMS, 0, s->bound->batch.network, 8, 8, "float* _sums");
    if (s->key->finishes) spyi_add_field(s, SPYI_PACK_TEAM, 2, 0, 4, 4, "uint _parts");
    else spyi_add_field(s, SPYI_PACK_COUNT, 0, 0, 4, 4, "uint _count");
}

// Writes the statement of a backward call: the first dispatch leaves partial sums, and the second adds them.
static void spyi_batch_backward(spyi_emit_state *s, const spyi_batch *batch) {
    const char *network = s->names[batch->network];
    if (s->key->finishes) {
        spyi_text_add(
            &s->body,
            "    // Adds what the groups of the dispatch before have left.\n"
            "    spyi_mlp_add_gradient<%u, %u>(spyi_block._sums, spyi_block.%s._grad, spyi_block._parts);\n",
            batch->shape, batch->add_options, network);
        return;
    }
    spyi_text_add(
        &s->body,
        "    // The groups of the batch engine take all tiles of rows in turn, and leave sums of gradients.\n"
        "    spyi_mlp_gradient%s<%u, %u>(spyi_block.%s._data, spyi_block.%s, spyi_block.%s, "
        "spyi_block._sums, "
        "spyi_block.%s, spyi_block._count);\n",
        batch->one_gradient ? "_one" : "", batch->shape, batch->options, network, s->names[batch->inputs],
        s->names[batch->outputs], batch->inputs_gradient < 0 ? "_sums" : s->names[batch->inputs_gradient]);
}

static void spyi_batch_body(spyi_emit_state *s) {
    const spyi_batch *batch = &s->bound->batch;
    if (s->bound->mode) spyi_batch_backward(s, batch);
    else
        spyi_text_add(&s->body,
                      "    // The groups of the batch engine take all tiles of rows in turn.\n"
                      "    spyi_mlp_forward<%u, %u>(spyi_block.%s._data, spyi_block.%s, spyi_block.%s, "
                      "spyi_block._count);\n",
                      batch->shape, batch->options, s->names[batch->network], s->names[batch->inputs],
                      s->names[batch->outputs]);
}

SPYI_FN const spyi_prologue *spyi_batch_prologue(void) {
    static const spyi_prologue prologue = { spyi_batch_name, spyi_compute_head,   spyi_batch_fields,
                                            spyi_batch_body, spyi_compute_number, spyi_compute_index };
    return &prologue;
}
