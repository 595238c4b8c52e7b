// Networks of `import mlp;` in a call: decides whether they multiply on the matrix units, and writes their
// lines for spy_explain_call. slang/mlp.slang decides the same by its constant `units`, and at run time by
// spy_mlp_warp::ready(); the rules are in docs/mlp.md.
#include "bind/internal.h"
#include "data/type_name.h"

enum { SPYI_MLP_ARGUMENTS = 8, SPYI_MLP_MOST = 128 };

// The generic arguments of an MLP.
typedef struct spyi_mlp {
    long inputs, outputs, width, depth;
    int activation; // the number of the activation in mlp_batch.slang; -1 if it has none
    bool plain_end; // the output activation is NoActivation
    bool bias;
    bool rounds, mixed; // rounds: T is half or Mixed; mixed: T is Mixed
} spyi_mlp;

// Returns the number of an activation in mlp_batch.slang, or -1.
static int spyi_activation_number(const char *name) {
    static const char *const names[] = { "NoActivation", "ReLU", "LeakyReLU", "Sigmoid", "Tanh" };
    size_t length = strcspn(name, ",");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return (int)i;
    return -1;
}

// Reads the arguments from a type's name: "MLP<64, 8, 64, 3, ReLU, NoActivation, 0, half>". Returns false for other types.
static bool spyi_read_mlp(const spyi_type *type, spyi_mlp *mlp) {
    const char *at = type ? type->name : "", *argument[SPYI_MLP_ARGUMENTS];
    uint32_t count = 1, depth = 0;
    if (strncmp(at, "MLP<", 4) != 0) return false;
    argument[0] = at += 4;
    for (; *at && (*at != '>' || depth); at++) {
        if (*at == '<') depth++;
        if (*at == '>') depth--;
        if (*at != ',' || depth) continue;
        if (count == SPYI_MLP_ARGUMENTS) return false;
        argument[count++] = at + 1 + strspn(at + 1, " ");
    }
    if (count != SPYI_MLP_ARGUMENTS) return false;
    mlp->inputs = strtol(argument[0], NULL, 10);
    mlp->outputs = strtol(argument[1], NULL, 10);
    mlp->width = strtol(argument[2], NULL, 10);
    mlp->depth = strtol(argument[3], NULL, 10);
    mlp->activation = spyi_activation_number(argument[4]);
    mlp->plain_end = spyi_activation_number(argument[5]) == 0;
    mlp->bias = strtol(argument[6], NULL, 10) != 0;
    mlp->mixed = strncmp(argument[7], "Mixed>", 6) == 0;
    mlp->rounds = mlp->mixed || strncmp(argument[7], "half>", 5) == 0;
    return true;
}

// Writes why the matrix units do not take the network. Returns whether they do.
static bool spyi_mlp_fits(const spyi_mlp *m, const spyi_profile *profile, spyi_text *why) {
    if (!m->rounds)
        spyi_text_add(why,
                      "its parameters are float; with Mixed (float parameters) or half it may round to half");
    else if (profile->target != SPYI_TARGET_CUDA) spyi_text_add(why, "the matrix units are used on CUDA");
    else if (profile->arch < 80)
        spyi_text_add(why, "mma.sync needs compute capability 8.0, the device has %u.%u", profile->arch / 10,
                      profile->arch % 10);
    else if (m->depth && (m->width % 16 || m->width > SPYI_MLP_MOST))
        spyi_text_add(why, "its width is %ld; multiples of 16 up to %d are possible", m->width,
                      SPYI_MLP_MOST);
    else if (m->inputs > SPYI_MLP_MOST || m->outputs > SPYI_MLP_MOST)
        spyi_text_add(why, "it has %ld inputs and %ld outputs; up to %d are possible", m->inputs, m->outputs,
                      SPYI_MLP_MOST);
    else return true;
    return false;
}

// Returns whether a thread may compute an element that another thread computes, too, which it may if the
// function changes nothing but its outputs.
static bool spyi_may_repeat(spy_function *function, const spyi_bound *b) {
    if (b->dispatch || b->shader || b->options.prelude || function->object.device->printer) return false;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].role != SPYI_ROLE_INSIDE && (b->leaves[i].writes || b->leaves[i].untracked))
            return false;
    const spyi_inputs *inputs = spyi_unit_inputs(function->module->unit);
    return inputs && inputs->count == 0;
}

// Calls `found` for each network among a node's fields, or for the node itself.
static void spyi_each_network(const spyi_bound *b, uint32_t first, uint32_t count,
                              void (*found)(const spyi_bound *b, const spyi_node *node, const spyi_mlp *mlp,
                                            void *context),
                              void *context) {
    for (uint32_t i = first; i < first + count; i++) {
        spyi_mlp mlp;
        if (spyi_read_mlp(b->nodes[i].type, &mlp)) found(b, &b->nodes[i], &mlp, context);
        else if (b->nodes[i].leaf < 0)
            spyi_each_network(b, b->nodes[i].first, b->nodes[i].count, found, context);
    }
}

static void spyi_note_network(const spyi_bound *b, const spyi_node *node, const spyi_mlp *mlp,
                              void *context) {
    spy_function *function = (spy_function *)context;
    spyi_bound *bound = (spyi_bound *)(uintptr_t)b;
    spyi_text why = { NULL, 0, 0 };
    (void)node;
    if (spyi_mlp_fits(mlp, &function->object.device->base->limits.profile, &why)) bound->whole_warps = true;
    spyi_text_free(&why);
}

// >>rooms

// Returns the leaf of a network's parameters, or -1.
static int32_t spyi_weights_of(const spyi_bound *b, const spyi_node *network) {
    return network->leaf < 0 && network->count == 1 ? b->nodes[network->first].leaf : network->leaf;
}

enum {
    SPYI_ROOM_HEAD = 128,     // words before the first room
    SPYI_ROOM_RESERVE = 4096, // bytes that the kernel may have beside
    SPYI_ROOM_SMALL = 9216    // words of networks up to width 32, mostly
};

typedef struct spyi_room_search {
    const spyi_limits *limits;
    spyi_rooms *rooms;
} spyi_room_search;

// Words of a layer's part of a room: RoomOf in slang/mlp_matrix.slang.
static uint64_t spyi_room_words(long inputs, long outputs, bool bias) {
    return (uint64_t)((inputs + 15) / 16 + bias) * (uint64_t)((outputs + 7) / 8) * 128;
}

static void spyi_find_room(const spyi_bound *b, const spyi_node *node, const spyi_mlp *m, void *context) {
    const spyi_room_search *search = (const spyi_room_search *)context;
    spyi_rooms *rooms = search->rooms;
    spyi_text why = { NULL, 0, 0 };
    int32_t leaf = spyi_weights_of(b, node);
    bool fits = spyi_mlp_fits(m, &search->limits->profile, &why);
    spyi_text_free(&why);
    uint32_t most = search->limits->info.max_shared_bytes;
    most = most > SPYI_ROOM_RESERVE ? (most - SPYI_ROOM_RESERVE) / 16 * 4 : 0;
    if (!fits || leaf < 0 || b->leaves[leaf].batch_rank || rooms->count == SPYI_MOST_ROOMS ||
        rooms->words + 128 > most || m->depth < 0 || m->depth > 1000)
        return;
    uint64_t words = rooms->words;
    if (m->depth == 0) words += spyi_room_words(m->inputs, m->outputs, m->bias);
    else
        words += spyi_room_words(m->inputs, m->width, m->bias) +
                 (uint64_t)(m->depth - 1) * spyi_room_words(m->width, m->width, m->bias) +
                 spyi_room_words(m->width, m->outputs, m->bias);
    rooms->items[rooms->count].leaf = (uint32_t)leaf;
    rooms->items[rooms->count].first = rooms->words;
    rooms->items[rooms->count++].network = node->type;
    rooms->words = words < most ? (uint32_t)words : most; // layers that do not fit add to memory
}

SPYI_FN bool spyi_rooms_of(const spyi_bound *b, const spyi_limits *limits, spyi_rooms *rooms) {
    spyi_room_search search;
    const uint32_t *threads = b->options.threads;
    memset(rooms, 0, sizeof *rooms);
    rooms->words = SPYI_ROOM_HEAD;
    search.limits = limits;
    search.rooms = rooms;
    if (b->mode != SPY_CALL_MODE_BACKWARD || !b->whole_warps || b->options.deterministic ||
        b->options.shared_bytes || threads[0] % 32 || threads[1] * threads[2] > 1)
        return false;
    spyi_each_network(b, 0, b->param_count, spyi_find_room, &search);
    // ptxas gives a thread 128 registers at width 32, so that two groups of 256 threads fit a multiprocessor, and 255 from width 64 on.
    rooms->resident = rooms->words <= SPYI_ROOM_SMALL ? 2 : 1;
    return rooms->count > 0;
}

// >>calls that are nothing but a network

// Sets the numbers by which the engine's templates know the network and the kernel.
static void spyi_batch_options(const spyi_mlp *m, bool half_inputs, spyi_batch *batch) {
    uint32_t flags = (m->bias ? 2u : 0u) | (half_inputs ? 16u : 4u);
    batch->shape =
        (uint32_t)m->width | (uint32_t)m->depth << 8 | (uint32_t)m->inputs << 12 | (uint32_t)m->outputs << 20;
    batch->options =
        (uint32_t)m->activation | flags << 6 | (batch->wgmma ? 1u << 11 : 0u) | batch->threads / 32 << 12;
}

// Fills the members of *batch that describe the engine's backward kernel. Returns false if the engine has none for
// the network.
static bool spyi_batch_trains(const spyi_mlp *m, bool sm90, uint32_t max_shared_bytes, spyi_batch *batch) {
    uint32_t width = (uint32_t)m->width, depth = (uint32_t)m->depth, bias = m->bias,
             warps = width == 32 ? 12 : 8,
             staged =
                 ((2 * depth * width + 32) * width + bias * (depth * width + 8) * 4 + 1023) / 1024 * 1024;
    if (width > 64 || depth > 4) return false; // the sums of all weights are in registers
    batch->wgmma = sm90 && width == 64;
    batch->shared_bytes = staged + 2 * ((depth + 3) * 8192 + 2048) + 1024 * bias;
    uint32_t team = width == 64 ? 4 : 1; // warps that share a tile; a tile has 32 rows for each of them
    while (!batch->wgmma) {
        batch->shared_bytes =
            staged + warps / team * ((depth + 2) * 64 * team * width + 512 * team + (team > 1 ? 128 : 0));
        if (batch->shared_bytes <= max_shared_bytes || warps == 4) break;
        warps -= 4;
    }
    if (batch->shared_bytes > max_shared_bytes) return false;
    batch->threads = warps * 32;
    batch->rows = warps * (batch->wgmma ? 16 : 32);
    batch->resident = 1;
    // The constants PLOSS and PART of mlp_batch_engine.slang.
    batch->sums = depth * width * width + 8 * width + bias * (depth * width + 8);
    batch->sums_bytes = (batch->sums + 4) / 4 * 16;
    return true;
}

// Fills *batch. Returns false if the batch engine does not take the network.
static bool spyi_batch_fits(const spyi_mlp *m, const spyi_limits *limits, bool half_inputs, bool backward,
                            spyi_batch *batch) {
    bool wgmma = limits->profile.arch == 90 && !limits->any_arch;
    uint32_t max_shared_bytes = limits->info.max_shared_bytes;
    uint32_t width = (uint32_t)m->width, depth = (uint32_t)m->depth,
             at = width == 32   ? 0
                  : width == 64 ? 1
                                : 2;
    // By engine and width: warps of a group, and groups that a multiprocessor runs at the same time
    // (python/slangpy/mlp_batch.py has the same numbers).
    static const uint8_t warps[2][3] = { { 4, 4, 8 }, { 16, 20, 12 } },
                         resident[2][3] = { { 8, 4, 1 }, { 2, 1, 1 } };
    if ((width != 32 && width != 64 && width != 128) || m->depth < 1 || m->depth > 8 ||
        m->inputs > m->width || m->outputs > 8 || m->activation < 0 || !m->plain_end)
        return false;
    memset(batch, 0, sizeof *batch);
    batch->inputs_gradient = -1;
    if (backward) {
        if (!spyi_batch_trains(m, wgmma, max_shared_bytes, batch)) return false;
        spyi_batch_options(m, half_inputs, batch);
        return true;
    }
    batch->shared_bytes =
        // the constant F of mlp_batch.slang
        (2 * depth * width + 32) * width + (m->bias ? (depth * width + 8) * 4 : 0);
    if (batch->shared_bytes > max_shared_bytes) return false;
    uint32_t many = warps[wgmma][at];
    if (many == 20 && (!half_inputs || m->inputs != m->width)) many = 16;
    batch->wgmma = wgmma;
    batch->threads = many * 32;
    batch->rows = many * (wgmma ? 16 : 32);
    batch->resident = resident[wgmma][at];
    spyi_batch_options(m, half_inputs, batch);
    return true;
}

static bool spyi_is_half(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->element;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar == SPY_DTYPE_FLOAT16;
}

// Fills the members of *batch that the gradients of a backward call decide.
static void spyi_batch_gradients(const spyi_bound *b, const spyi_leaf *x, spyi_batch *batch) {
    enum {
        GIVEN = 5 << 3,
        ONE = 6 << 3,
        OF_INPUTS = 8 << 6,
        ADDS = 6 << 18,
        GRADIENT = 5 << 18,
        HALF_GIVEN = 1 << 22,
        HALF_INPUTS = 1 << 23
    };
    batch->outputs = b->leaves[b->nodes[2].leaf].grads[SPYI_GRAD_IN];
    const spyi_leaf *dy = &b->leaves[batch->outputs];
    batch->one_gradient = !spyi_leaf_in_memory(dy);
    batch->add_options = batch->options | GIVEN | ADDS;
    batch->options |= (uint32_t)GRADIENT | (batch->one_gradient ? ONE : GIVEN);
    if (!batch->one_gradient && spyi_is_half(dy)) batch->options |= HALF_GIVEN;
    if (!x->grads[SPYI_GRAD_OUT]) return;
    batch->inputs_gradient = (int32_t)x->grads[SPYI_GRAD_OUT];
    batch->options |= OF_INPUTS | (spyi_is_half(&b->leaves[batch->inputs_gradient]) ? HALF_INPUTS : 0);
}

SPYI_FN bool spyi_find_batch(const spyi_limits *limits, spyi_bound *b) {
    spyi_batch *batch = &b->batch;
    const spyi_node *network = NULL, *rows = NULL;
    spyi_mlp m;
    for (uint32_t i = 0; i < 2; i++) {
        if (spyi_read_mlp(b->nodes[i].type, &m)) network = &b->nodes[i];
        else rows = &b->nodes[i];
    }
    if (!network || !rows || !spyi_read_mlp(network->type, &m)) return false;
    const spyi_leaf *x = &b->leaves[rows->leaf];
    bool half = x->element->kind == SPYI_TYPE_SCALAR && x->element->scalar == SPY_DTYPE_FLOAT16;
    if (!spyi_batch_fits(&m, limits, half, b->mode != 0, batch)) return false;
    batch->network = (uint32_t)spyi_weights_of(b, network);
    batch->inputs = (uint32_t)rows->leaf;
    batch->outputs = (uint32_t)b->nodes[2].leaf;
    if (b->mode) spyi_batch_gradients(b, x, batch);
    return true;
}

// Returns whether the leaf is one array of floats for each element, in memory as floats or, with `halves`, as halves.
static bool spyi_is_batch_row(const spyi_bound *b, int32_t leaf, bool halves) {
    const spyi_leaf *l = leaf >= 0 ? &b->leaves[leaf] : NULL;
    if (!l || !spyi_leaf_in_memory(l) || l->type->kind != SPYI_TYPE_ARRAY || l->consumed > 1 ||
        l->batch_rank != 1)
        return false;
    const spyi_type *scalar = l->type->element;
    if (!scalar || scalar->kind != SPYI_TYPE_SCALAR || scalar->scalar != SPY_DTYPE_FLOAT32) return false;
    if (l->consumed == 0) return l->element == l->type; // the leaf is a result that the call makes
    return l->element && l->element->kind == SPYI_TYPE_SCALAR &&
           (l->element->scalar == SPY_DTYPE_FLOAT32 || (halves && l->element->scalar == SPY_DTYPE_FLOAT16));
}

// Returns whether a gradient of rows is one array for each element, in memory as floats or halves.
static bool spyi_is_batch_gradient(const spyi_bound *b, uint32_t leaf) {
    const spyi_leaf *l = &b->leaves[leaf];
    if (!spyi_leaf_in_memory(l) || l->type->kind != SPYI_TYPE_ARRAY || l->consumed > 1 ||
        l->batch_rank != 1 || !l->in)
        return false;
    const spyi_type *scalar = l->type->element;
    return scalar->kind == SPYI_TYPE_SCALAR &&
           (scalar->scalar == SPY_DTYPE_FLOAT32 || scalar->scalar == SPY_DTYPE_FLOAT16) &&
           l->element == (l->consumed ? scalar : l->type);
}

// Returns whether the engine takes the gradients of a backward call: those of the outputs are rows or one row for all, and the weights have
// one.
static bool spyi_is_batch_backward(const spyi_bound *b, const spyi_leaf *x, const spyi_leaf *result,
                                   uint32_t weights) {
    bool adds = false;
    if (b->mode != SPY_CALL_MODE_BACKWARD || b->options.deterministic || b->combine ||
        !result->grads[SPYI_GRAD_IN])
        return false;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        adds = adds || (b->leaves[i].role == SPYI_ROLE_INSIDE && b->leaves[i].value_leaf == weights &&
                        b->leaves[i].writes);
    const spyi_leaf *dy = &b->leaves[result->grads[SPYI_GRAD_IN]];
    bool one =
        !spyi_leaf_in_memory(dy) && (dy->traits & SPYI_TRAIT_VALUE) && dy->type == result->differential;
    return adds && (one || spyi_is_batch_gradient(b, result->grads[SPYI_GRAD_IN])) &&
           (!x->grads[SPYI_GRAD_OUT] || spyi_is_batch_gradient(b, x->grads[SPYI_GRAD_OUT]));
}

// Returns whether the call is nothing but a network of one dimension of rows.
static bool spyi_is_batch(spy_function *function, const spyi_bound *b) {
    spyi_mlp m;
    int which = -1;
    if (b->dispatch || b->shader || b->rank != 1 || b->options.threads[0] || b->options.group.rank ||
        b->options.shared_bytes || !b->has_result || b->param_count != 2)
        return false;
    for (int i = 0; i < 2; i++)
        if (spyi_read_mlp(b->nodes[i].type, &m)) which = i;
    int32_t weights = which < 0 ? -1 : spyi_weights_of(b, &b->nodes[which]);
    if (weights < 0 || b->leaves[weights].batch_rank) return false;
    if (!spyi_is_batch_row(b, b->nodes[1 - which].leaf, true) || b->nodes[2].leaf < 0) return false;
    return (b->mode ? spyi_is_batch_backward(b, &b->leaves[b->nodes[1 - which].leaf],
                                             &b->leaves[b->nodes[2].leaf], (uint32_t)weights)
                    : spyi_is_batch_row(b, b->nodes[2].leaf, false)) &&
           spyi_unit_is_network(function->module->unit, function->name, b->mode != 0);
}

SPYI_FN void spyi_find_networks(spy_function *function, spyi_bound *b) {
    const spyi_limits *limits = &function->object.device->base->limits;
    b->whole_warps = false;
    spyi_each_network(b, 0, b->param_count, spyi_note_network, function);
    b->is_batch = b->whole_warps && spyi_is_batch(function, b) && spyi_find_batch(limits, b);
    b->whole_warps = b->whole_warps && spyi_may_repeat(function, b);
}

typedef struct spyi_network_text {
    const spyi_limits *limits;
    int batch;   // the variant's key.batch
    bool single; // the call has one element, and one thread
    spyi_text *out;
} spyi_network_text;

static void spyi_explain_network(const spyi_bound *b, const spyi_node *node, const spyi_mlp *m,
                                 void *context) {
    const spyi_network_text *to = (const spyi_network_text *)context;
    spyi_text why = { NULL, 0, 0 }, *out = to->out;
    spyi_text_add(out, "  network %s: ", node->name);
    if (to->batch == SPYI_BATCH_ENGINE) {
        spyi_text_add(out, "the whole call, by the batch engine (%s), products of halves, sums in float%s",
                      b->batch.wgmma ? "wgmma" : "mma.sync",
                      b->mode ? ", in the same order in each run" : "");
    } else if (!spyi_mlp_fits(m, &to->limits->profile, &why)) {
        spyi_text_add(out, "plain loops: %s", spyi_text_str(&why));
    } else if (to->single) {
        spyi_text_add(out, "plain loops: the call has one element");
    } else if (b->mode == SPY_CALL_MODE_FORWARD_DIFF) {
        spyi_text_add(out, "plain loops: forward mode has no other");
    } else if (b->mode && b->options.deterministic) {
        spyi_text_add(out, "plain loops: the call is deterministic");
    } else {
        spyi_text_add(out, "matrix units (mma.sync), products of halves, sums in float");
        if (m->inputs % 16) spyi_text_add(out, "; inputs padded to %ld", (m->inputs + 15) / 16 * 16);
        if (m->outputs % 8) spyi_text_add(out, "; outputs padded to %ld", (m->outputs + 7) / 8 * 8);
        if (b->mode && to->batch == SPYI_BATCH_ROOMS)
            spyi_text_add(out, "; each group sums the gradients of all its elements in shared memory");
        if (!b->whole_warps)
            spyi_text_add(out, "; plain loops in a warp of fewer than 32 elements, since the function "
                               "may change more than its outputs");
    }
    spyi_text_add(out, "\n");
    spyi_text_free(&why);
}

SPYI_FN void spyi_networks_text(const spyi_bound *b, const spyi_limits *limits, int batch, bool single,
                                spyi_text *out) {
    spyi_network_text context;
    context.limits = limits;
    context.batch = batch;
    context.single = single;
    context.out = out;
    spyi_each_network(b, 0, b->param_count, spyi_explain_network, &context);
}
