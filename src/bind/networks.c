// Networks of `import mlp;` in a call: whether they multiply on the matrix units, and what spy_explain_call says of them.
// slang/mlp.slang decides the same by its constant `units`, and at run time by spy_mlp_warp::ready(); the rules are in docs/mlp.md.
#include "bind/internal.h"
#include "data/type_name.h"

enum { SPYI_MLP_ARGUMENTS = 8, SPYI_MLP_MOST = 128 };

// The generic arguments of an MLP.
typedef struct spyi_mlp {
    long inputs, outputs, width, depth;
    bool rounds, mixed; // T is half or Mixed; T is Mixed
} spyi_mlp;

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

// Returns whether a thread may compute an element that another thread computes, too: the function changes nothing but
// its outputs.
static bool spyi_may_repeat(spy_function *function, const spyi_bound *b) {
    if (b->dispatch || b->shader || b->options.prelude || function->object.device->printer) return false;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].role != SPYI_ROLE_INSIDE && (b->leaves[i].writes || b->leaves[i].untracked))
            return false;
    const spyi_inputs *inputs = spyi_unit_inputs(function->module->unit);
    return inputs && inputs->count == 0;
}

// Finds the networks among a node's fields, or in the node itself: calls `found` for each.
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

SPYI_FN void spyi_find_networks(spy_function *function, spyi_bound *b) {
    b->whole_warps = false;
    spyi_each_network(b, 0, b->param_count, spyi_note_network, function);
    b->whole_warps = b->whole_warps && spyi_may_repeat(function, b);
}

typedef struct spyi_network_text {
    const spyi_profile *profile;
    spyi_text *out;
} spyi_network_text;

static void spyi_explain_network(const spyi_bound *b, const spyi_node *node, const spyi_mlp *m,
                                 void *context) {
    const spyi_network_text *to = (const spyi_network_text *)context;
    spyi_text why = { NULL, 0, 0 }, *out = to->out;
    spyi_text_add(out, "  network %s: ", node->name);
    if (!spyi_mlp_fits(m, to->profile, &why)) {
        spyi_text_add(out, "plain loops: %s", spyi_text_str(&why));
    } else if (b->mode == SPY_CALL_MODE_FORWARD_DIFF) {
        spyi_text_add(out, "plain loops: forward mode has no other");
    } else if (b->mode && b->options.deterministic) {
        spyi_text_add(out, "plain loops: the call is deterministic");
    } else {
        spyi_text_add(out, "matrix units (mma.sync), products of halves, sums in float");
        if (m->inputs % 16) spyi_text_add(out, "; inputs padded to %ld", (m->inputs + 15) / 16 * 16);
        if (m->outputs % 8) spyi_text_add(out, "; outputs padded to %ld", (m->outputs + 7) / 8 * 8);
        if (!b->whole_warps)
            spyi_text_add(out, "; plain loops in a warp of fewer than 32 elements, since the function "
                               "may change more than its outputs");
    }
    spyi_text_add(out, "\n");
    spyi_text_free(&why);
}

SPYI_FN void spyi_networks_text(const spyi_bound *b, const spyi_profile *profile, spyi_text *out) {
    spyi_network_text context;
    context.profile = profile;
    context.out = out;
    spyi_each_network(b, 0, b->param_count, spyi_explain_network, &context);
}
