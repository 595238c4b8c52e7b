// The text of a kernel: loads, one call, stores. User code is imported, never pasted.
//
// What was tried, GB/s on an NVIDIA H200 under Vulkan. Hand-written kernels, 2^26 floats:
//   one float a thread, groups of 32                      630
//   one float a thread, groups of 256                    3150
//   float4 through pointers, groups of 256               3144
//   float4 through StructuredBuffer<float4>, 256         4002   <- wide variant with bindings
//   16 floats a thread, pointers, strided float4 first   3894
//   float3, four elements as three float4                1546   (array went to local memory)
//   row broadcast, a division a thread                   2121;  float4 along the row 3435
// These kernels, 2^26 floats and 2^24 float3, timestamps round the dispatch; groups of 128, 256 and 512 agree to 2 %:
//   wide: add 4090, add scalar 3900, row broadcast 3900
//   flat, views that begin off the vector grid, elements a thread:  1: 2220   2: 3310   4: 3660   8: 3150
//   flat, float3 in and out, elements a thread:                     1: 3600   2: 3700   4: 3620   8: 3570
//   wide, float3 in and out, four elements as three float4:         2600; so only CPUs get it
// lavapipe: structured buffers are 2.4 to 5 times faster than pointers.
//
// The same under CUDA (580.159, NVRTC 13.0), 2^26 floats, events round the call; a copy on the device reaches 4200:
//                                  add  scalar   row  half  uint8 double  every 2nd  A^T + B  3-D, odd sizes  float3
//   as they are                   4295   4190   4184  4288   4198   4286       2600     1562            3222    4070
//   groups of 128                 4288   4189   4180  4288   4203   3994       2582     1567             842    4079
//   groups of 512                 4297   4161   4157  4300   4215   4151       2587     1565            1664    4066
//   wide: 8 floats, 8 doubles     4053   3767   3809  4295   4201   3325       2445     1477            1604    4062
//   wide: 4 doubles                                                 4056
//   flat: 1 element a thread                                                                                    3655
//         4                                                         4280                                        4016
//   strided: 1 element a thread                                                                         1601
// (groups of 128 and 512, and 8 floats: double with 4 a thread, odd sizes with 1). Halves and bytes go as uint4, 8 and 16 a
// thread.
#include "emit/internal.h"

// >>the body

// The number of the current element in the call, as an expression.
SPYI_FN void spyi_element_text(const spyi_emit_state *s, spyi_text *out) {
    if (s->key->reordered) {
        for (uint32_t d = 0; d < s->key->rank; d++)
            spyi_text_add(out, "%sint(spy_c%u) * spyi_block._element%u", d ? " + " : "", d, d);
        return;
    }
    if (s->key->rank == 0) spyi_text_add(out, "0");
    else if (s->key->unroll > 1) spyi_text_add(out, "int(spy_i%s)", s->suffix);
    else spyi_text_add(out, s->element ? "int(spy_i + %u)" : "int(spy_i)", s->element);
}

// Thread number, call group and place in the group, coordinates, element: dimensions from the last to the first.
static void spyi_emit_groups(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    spyi_text *body = &s->body;
    uint32_t group[SPY_MAX_RANK], members = 1;
    spyi_call_group(b, group);
    for (uint32_t d = 0; d < b->rank; d++) members *= group[d];
    if (b->options.threads[1] * b->options.threads[2] > 1)
        spyi_text_add(body, "    uint spy_l = %s * %u + spy_in_group;\n",
                      s->key->folded ? "(spy_group.y * (spyi_block._row / %u) + spy_group.x)" : "spy_group.x",
                      s->out->group_size);
    else
        spyi_text_add(body, "    uint spy_l = %s;\n",
                      s->key->folded ? "spy_thread.y * spyi_block._row + spy_thread.x" : "spy_thread.x");
    spyi_text_add(body, "    uint spy_g = spy_l / %u;\n    uint spy_m = spy_l %% %u;\n", members, members);
    for (uint32_t d = b->rank; d-- > 0;) {
        spyi_text_add(body, "    uint spy_n%u = (uint(spyi_block._shape[%u]) + %u) / %u;\n", d, d, group[d] - 1,
                      group[d]);
        spyi_text_add(body, "    %s spy_c%u = %s(spy_g %% spy_n%u * %u + spy_m %% %u);\n",
                      s->key->index64 ? "int64_t" : "int", d, s->key->index64 ? "int64_t" : "int", d,
                      group[d], group[d]);
        if (d) spyi_text_add(body, "    spy_g /= spy_n%u;\n    spy_m /= %u;\n", d, group[d]);
    }
    spyi_text_add(body, "    if (spy_g >= spy_n0");
    for (uint32_t d = 0; d < b->rank; d++) spyi_text_add(body, " || spy_c%u >= spyi_block._shape[%u]", d, d);
    spyi_text_add(body, ") return;\n    uint spy_i = uint(spy_c0);\n");
    for (uint32_t d = 1; d < b->rank; d++)
        spyi_text_add(body, "    spy_i = spy_i * uint(spyi_block._shape[%u]) + uint(spy_c%u);\n", d, d);
}

SPYI_FN void spyi_emit_coordinates(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int", *own = spyi_own_suffix(s);
    // Coordinates, innermost last: division by multiplication, exact for numbers below 2^31.
    if (key->rank > 1) spyi_text_add(body, "    uint spy_rest = spy_i;\n    uint spy_high;\n");
    for (uint32_t d = key->rank - 1u; d >= 1; d--) {
        spyi_text_add(
            body,
            "    spy_high = (uint((uint64_t(spy_rest) * spyi_block._magic%u) >> 32) + spy_rest) >> spyi_block._shift%u;\n"
            "    %s spy_c%u%s = %s(spy_rest - spy_high * spyi_block._size%u);\n    spy_rest = spy_high;\n",
            d, d, index, d, own, index, d);
    }
    spyi_text_add(body, "    %s spy_c0%s = %s(%s);\n", index, own, index,
                  key->rank > 1 ? "spy_rest" : "spy_i");
}

// Those of the thread's next element; behind the end, of the last one again.
static void spyi_emit_next_coordinates(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int";
    uint32_t last = key->rank - 1u;
    for (uint32_t d = 0; d <= last; d++)
        spyi_text_add(body, "    %s spy_c%u_%u = spy_c%u_%u;\n", index, d, s->element, d, s->element - 1);
    spyi_text_add(body, "    if (spy_valid > %u && ++spy_c%u_%u == %s(spyi_block._size%u)) {\n", s->element, last,
                  s->element, index, last);
    for (uint32_t d = last; d > 1; d--)
        spyi_text_add(body, "        spy_c%u_%u = 0;\n        if (++spy_c%u_%u == %s(spyi_block._size%u)) {\n", d,
                      s->element, d - 1, s->element, index, d - 1);
    spyi_text_add(body, "        spy_c1_%u = 0;\n        ++spy_c0_%u;\n    ", s->element, s->element);
    for (uint32_t d = last; d > 1; d--) spyi_text_add(body, "}");
    spyi_text_add(body, "}\n");
}

// Coordinates and places of all of a thread's elements.
static void spyi_emit_crossing(spyi_emit_state *s) {
    for (s->element = 0; s->element < s->key->width; s->element++) {
        snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        if (s->element) spyi_emit_next_coordinates(s);
        else spyi_emit_coordinates(s);
        spyi_emit_offsets(s, false);
    }
    s->element = 0;
    s->suffix[0] = 0;
}

// Where each strided leaf's element is, from the coordinates.
SPYI_FN void spyi_emit_offsets(spyi_emit_state *s, bool summed) {
    const spyi_variant_key *key = s->key;
    const spyi_bound *b = s->bound;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int", *own = spyi_own_suffix(s);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        uint32_t walk = spyi_walk_of(s, i);
        if (!spyi_leaf_in_memory(&b->leaves[i]) || walk < SPYI_WALK_INNER) continue;
        if (key->team && (spyi_is_skipped(s, i) || spyi_is_summed(s, i) != summed)) continue;
        spyi_text_add(body, "    %s %s_at%s = ", index, s->names[i], own);
        bool first = true;
        for (uint32_t d = 0; d < key->rank; d++) {
            bool innermost = d + 1u == key->rank;
            if (innermost && walk == SPYI_WALK_STILL) continue;
            spyi_text_add(body, first ? "" : " + ");
            first = false;
            if (!innermost || walk == SPYI_WALK_STRIDED)
                spyi_text_add(body, "spy_c%u%s * spyi_block.%s__stride%u", d, own, s->names[i], d);
            else if (key->width > 1) spyi_text_add(body, "spy_c%u / %u", d, key->width);
            else spyi_text_add(body, "spy_c%u", d);
        }
        spyi_text_add(body, first ? "0;\n" : ";\n");
    }
}

// A dispatch: its ids when groups had to be folded, and the end of its threads.
static void spyi_emit_threads(spyi_emit_state *s) {
    const uint32_t *threads = s->bound->options.threads;
    if (s->key->folded)
        spyi_text_add(
            &s->body,
            "    uint spy_g = spy_group.y * %u + spy_group.x, spy_gx = spyi_block._groups[0], spy_gy = "
            "spyi_block._groups[1];\n"
            "    if (spy_g >= spy_gx * spy_gy * spyi_block._groups[2]) return;\n"
            "    spy_group = uint3(spy_g %% spy_gx, spy_g / spy_gx %% spy_gy, spy_g / (spy_gx * spy_gy));\n"
            "    spy_thread = spy_group * uint3(%u, %u, %u) + spy_local;\n",
            s->max_groups, threads[0], threads[1], threads[2]);
    if (s->bound->guarded)
        spyi_text_add(&s->body,
                      "    if (spy_thread.x >= spyi_block._threads[0] || spy_thread.y >= spyi_block._threads[1] || "
                      "spy_thread.z >= spyi_block._threads[2]) return;\n");
}

static void spyi_emit_index(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    if (s->bound->dispatch) spyi_emit_threads(s);
    else if (key->rank == 0 &&
             s->out->group_size > 1) // the caller's group; its other threads have nothing to do
        spyi_text_add(body, "    if (any(spy_thread != 0)) return;\n");
    if (key->rank == 0) return;
    if (key->grouped) {
        spyi_emit_groups(s);
        spyi_emit_offsets(s, false);
        return;
    }
    const char *thread = key->folded ? "spy_thread.y * spyi_block._row + spy_thread.x" : "spy_thread.x";
    if (key->width > 1) {
        spyi_text_add(body, "    uint spy_vector = %s;\n    uint spy_i = spy_vector * %u;\n", thread,
                      key->width);
    } else if (key->unroll > 1) {
        uint32_t group = s->out->group_size;
        spyi_text_add(body, "    uint spy_t = %s;\n    uint spy_i_0 = spy_t / %u * %u + spy_t %% %u;\n",
                      thread, group, group * key->unroll, group);
        spyi_text_add(body,
                      "    if (spy_i_0 >= spyi_block._count) return;\n    uint spy_last = spyi_block._count - 1;\n");
        for (uint32_t k = 1; k < key->unroll; k++)
            spyi_text_add(body, "    uint spy_i_%u = spy_i_0 + %u;\n", k, group * k);
        return; // flat: no coordinates
    } else {
        spyi_text_add(body, "    uint spy_i = %s;\n", thread);
    }
    spyi_text_add(body, "    if (spy_i >= spyi_block._count) return;\n");
    if (!spyi_needs_coordinates(s) || key->crosses) return;
    spyi_emit_coordinates(s);
    spyi_emit_offsets(s, false);
}

// The variable of a part of a DifferentialPair: "p" or "d". The pair's number in the node list makes it the only one.
static void spyi_spell_part(const spyi_emit_state *s, uint32_t pair_index, const spyi_node *part,
                            spyi_text *out) {
    spyi_text_add(out, "spyi_pair_%u_%s%s", pair_index, part->name, s->suffix);
}

// The expression for a field of `parent`: a member, or a variable of its own when the parent is a DifferentialPair.
static void spyi_spell_child(const spyi_emit_state *s, uint32_t parent_index, const char *parent,
                             uint32_t child, spyi_text *out) {
    const spyi_node *nodes = s->bound->nodes;
    if (spyi_type_is_pair(nodes[parent_index].type)) spyi_spell_part(s, parent_index, &nodes[child], out);
    else spyi_spell_field(parent, &nodes[child], out);
}

// Gives each leaf below a parameter the name of its variable. `declares`: declares the variables of the parts of pairs,
// and with `top` the parameter's own, unless their loads or spyi_emit_pairs() do.
static void spyi_emit_variables(spyi_emit_state *s, uint32_t node_index, const char *lvalue, bool top,
                                bool declares, const char *indent) {
    const spyi_node *node = &s->bound->nodes[node_index];
    bool pair = spyi_type_is_pair(node->type); // made of its parts, which are variables of their own
    if (top && declares && node->leaf >= 0 && node->in && !spyi_gathers(s, (uint32_t)node->leaf))
        s->fresh[node->leaf] = true;
    else if (top && declares && !pair)
        spyi_text_add(&s->body, "%s%s %s;\n", indent, spyi_spell(node->type), lvalue);
    if (node->leaf >= 0) {
        free(s->lvalues[node->leaf]);
        s->lvalues[node->leaf] = spyi_strdup(lvalue);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        spyi_text field = { NULL, 0, 0 };
        spyi_spell_child(s, node_index, lvalue, node->first + i, &field);
        spyi_emit_variables(s, node->first + i, spyi_text_str(&field), pair, declares, indent);
        spyi_text_free(&field);
    }
}

// The DifferentialPairs of a parameter that goes in are made of their parts, inner ones first. `top`: a variable of its
// own, which is declared here if it is a pair.
static void spyi_emit_pairs(spyi_emit_state *s, uint32_t node_index, const char *name, bool top) {
    const spyi_node *node = &s->bound->nodes[node_index];
    bool pair = spyi_type_is_pair(node->type);
    for (uint32_t i = 0; i < node->count; i++) {
        spyi_text field = { NULL, 0, 0 };
        spyi_spell_child(s, node_index, name, node->first + i, &field);
        spyi_emit_pairs(s, node->first + i, spyi_text_str(&field), pair);
        spyi_text_free(&field);
    }
    if (!pair || !(top || node->in)) return;
    spyi_text_add(&s->body, "    %s%s%s", top ? spyi_spell(node->type) : "", top ? " " : "", name);
    for (uint32_t i = 0; i < node->count && node->in; i++) {
        spyi_text_add(&s->body, i ? ", " : " = diffPair(");
        spyi_spell_part(s, node_index, &s->bound->nodes[node->first + i], &s->body);
    }
    spyi_text_add(&s->body, node->in ? ");\n" : ";\n");
}

// Those of a parameter that comes back are taken apart. `declares`: the variables of the parts are declared, too.
static void spyi_emit_parts(spyi_emit_state *s, uint32_t node_index, const char *name, bool declares,
                            const char *indent) {
    const spyi_node *node = &s->bound->nodes[node_index];
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *part = &s->bound->nodes[node->first + i];
        spyi_text field = { NULL, 0, 0 };
        spyi_spell_child(s, node_index, name, node->first + i, &field);
        if (spyi_type_is_pair(node->type))
            spyi_text_add(&s->body, "%s%s%s%s = %s.%s;\n", indent, declares ? spyi_spell(part->type) : "",
                          declares ? " " : "", spyi_text_str(&field), name, part->name);
        spyi_emit_parts(s, node->first + i, spyi_text_str(&field), declares, indent);
        spyi_text_free(&field);
    }
}

// The arguments of the call for the current element; declares variables for those that need one and loads them.
static void spyi_emit_arguments(spyi_emit_state *s, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    if (b->mode) {
        spyi_emit_gradient_arguments(s, arguments);
        return;
    }
    for (uint32_t p = 0; p < b->param_count; p++) {
        const spyi_node *node = &b->nodes[p];
        bool instance =
            p == 0 && b->signature.callee == SPYI_CALLEE_METHOD; // stands before the method's name
        if (arguments->size) spyi_text_add(arguments, ", ");
        if (!instance && node->leaf >= 0 && spyi_leaf_expression(s, (uint32_t)node->leaf, arguments))
            continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", node->name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), true, true, "    ");
        if (!instance) spyi_text_add(arguments, "%s", spyi_text_str(&name));
        spyi_text_free(&name);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (s->lvalues[i] && b->leaves[i].in) spyi_emit_leaf_load(s, i, "    ");
    for (uint32_t p = 0; p < b->param_count; p++) {
        if (!spyi_type_holds_pair(b->nodes[p].type)) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", b->nodes[p].name, s->suffix);
        spyi_emit_pairs(s, p, spyi_text_str(&name), true);
        spyi_text_free(&name);
    }
}

// The call for the current element, and its stores.
SPYI_FN void spyi_emit_call(spyi_emit_state *s, const char *function, const char *arguments,
                            const char *indent) {
    const spyi_bound *b = s->bound;
    for (uint32_t p = 0; p < b->param_count && !b->mode;
         p++) { // outputs go back from this element's variables
        if (!b->nodes[p].out) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", b->nodes[p].name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), true, false, indent);
        spyi_text_free(&name);
    }
    if (b->call_info && b->rank) {
        uint32_t group[SPY_MAX_RANK];
        spyi_text_add(&s->body, "%sspyi_set_call(", indent);
        spyi_element_text(s, &s->body);
        spyi_text_add(&s->body,
                      spyi_call_group(b, group) ? ", spyi_block._shape, spyi_call_group_shape);\n" : ", spyi_block._shape);\n");
    }
    if (b->mode) {
        spyi_emit_gradient_call(s, arguments, indent);
        return;
    }
    spyi_text_add(&s->body, "%s", indent);
    if (b->has_result) {
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "r_result%s", s->suffix);
        spyi_emit_variables(s, b->param_count, spyi_text_str(&name), true, false, indent);
        spyi_text_add(&s->body, "%s %s = ", spyi_spell(b->nodes[b->param_count].type), spyi_text_str(&name));
        spyi_text_free(&name);
    }
    if (b->signature.callee == SPYI_CALLEE_METHOD) spyi_text_add(&s->body, "a_this%s.", s->suffix);
    spyi_text_add(&s->body, "%s(%s);\n", function, arguments);
    for (uint32_t p = 0; p < b->param_count + (b->has_result ? 1u : 0u); p++) {
        bool is_result = p == b->param_count;
        if (!b->nodes[p].out || !spyi_type_holds_pair(b->nodes[p].type)) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, is_result ? "r_result%s%s" : "a_%s%s", is_result ? "" : b->nodes[p].name,
                      s->suffix);
        spyi_emit_parts(s, p, spyi_text_str(&name), is_result, indent);
        spyi_text_free(&name);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].out) spyi_emit_leaf_store(s, i, indent);
}

#define SPYI_MOST_ELEMENTS 16

static void spyi_emit_body(spyi_emit_state *s, const char *function) {
    uint32_t elements = s->key->rank ? (uint32_t)s->key->width * s->key->unroll : 1;
    bool wide = s->key->width > 1, tail = spyi_has_tail(s);
    spyi_text arguments[SPYI_MOST_ELEMENTS];
    memset(arguments, 0, sizeof arguments);
    if (s->key->team) {
        spyi_emit_team_body(s);
        return;
    }
    spyi_emit_index(s);
    if (tail) spyi_text_add(&s->body, "    uint spy_valid = min(%uu, spyi_block._count - spy_i);\n", s->key->width);
    if (s->key->crosses) spyi_emit_crossing(s);
    spyi_emit_thread_loads(s);
    // All loads first, so that they are under way together; then each call with its stores.
    for (s->element = 0; s->element < elements; s->element++) {
        if (elements > 1) snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        spyi_emit_arguments(s, &arguments[s->element]);
    }
    for (s->element = 0; s->element < elements; s->element++) {
        bool guarded = tail && s->element > 0;
        if (elements > 1) snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        if (guarded) spyi_text_add(&s->body, "    if (spy_valid > %u) {\n", s->element);
        else if (!wide && s->element > 0)
            spyi_text_add(&s->body, "    if (spy_i%s >= spyi_block._count) return;\n", s->suffix);
        spyi_emit_call(s, function, spyi_text_str(&arguments[s->element]), guarded ? "        " : "    ");
        if (guarded) spyi_text_add(&s->body, "    }\n");
        spyi_text_free(&arguments[s->element]);
    }
    s->element = 0;
    s->suffix[0] = 0;
    spyi_emit_thread_stores(s);
}

// >>the whole

// Our names in the kernel begin with these; a function that is called so would be hidden by them.
static bool spyi_is_hidden(const char *function) {
    bool letter = function[0] == 'a' || function[0] == 'b' || function[0] == 'r' || function[0] == 'v' ||
                  function[0] == 'w';
    return (letter && function[1] == '_') || strncmp(function, "spy", 3) == 0;
}

// For a hidden function: one of a harmless name that calls it, in a scope where none of our names are.
static void spyi_emit_wrapper(spyi_emit_state *s, const char *function, spyi_text *out) {
    const spyi_bound *b = s->bound;
    const spyi_type *result = b->signature.result;
    if (b->mode) spyi_text_add(out, "[Differentiable]\n");
    spyi_text_add(out, "%s spyi_called(", result->kind == SPYI_TYPE_VOID ? "void" : spyi_spell(result));
    for (uint32_t p = 0; p < b->param_count; p++) {
        const spyi_node *node = &b->nodes[p];
        spyi_text_add(out, "%s%s%s p%u", p ? ", " : "",
                      node->in && node->out ? "inout "
                      : node->out           ? "out "
                                            : "",
                      spyi_spell(node->type), p);
    }
    spyi_text_add(out, ")\n{\n    %s%s(", result->kind == SPYI_TYPE_VOID ? "" : "return ", function);
    for (uint32_t p = 0; p < b->param_count; p++) spyi_text_add(out, p ? ", p%u" : "p%u", p);
    spyi_text_add(out, ");\n}\n\n");
}

// The shape of a call group, for get_call_group_id() and its like.
static void spyi_emit_group_shape(const spyi_emit_state *s, spyi_text *out) {
    uint32_t group[SPY_MAX_RANK];
    if (!s->bound->call_info || !spyi_call_group(s->bound, group)) return;
    spyi_text_add(out, "static const int spyi_call_group_shape[%u] = { ", s->bound->rank);
    for (uint32_t d = 0; d < s->bound->rank; d++) spyi_text_add(out, d ? ", %u" : "%u", group[d]);
    spyi_text_add(out, " };\n\n");
}

// Puts the parts together.
static void spyi_emit_text(spyi_emit_state *s, const spy_function *function) {
    const spyi_variant_key *key = s->key;
    spyi_emitted *out = s->out;
    const char *spelling = s->bound->signature.spelling;
    bool hidden = s->bound->signature.callee == SPYI_CALLEE_FUNCTION && spyi_is_hidden(spelling);
    const uint32_t *threads = s->bound->options.threads;
    spyi_text kernel = { NULL, 0, 0 };
    spyi_declare_block(s);
    spyi_emit_body(s, hidden ? "spyi_called" : spelling);
    out->block_by_address = out->block_size > function->object.device->base->limits.max_block_bytes;
    spyi_text_add(&kernel, "%s", spyi_text_str(&s->holders));
    if (out->block_size) spyi_text_add(&kernel, "struct SpyiBlock\n{\n%s};\n", spyi_text_str(&s->fields));
    if (out->block_size && !out->block_by_address && s->path->block_is_global)
        spyi_text_add(&kernel, "[[vk::push_constant]] ConstantBuffer<SpyiBlock> spyi_block;\n");
    spyi_text_add(&kernel,
                  "\n[shader(\"compute\")]\n[numthreads(%u, %u, %u)]\nvoid %s(uint3 spy_thread : "
                  "SV_DispatchThreadID",
                  threads[0] ? threads[0] : out->group_size, threads[0] ? threads[1] : 1,
                  threads[0] ? threads[2] : 1, SPYI_KERNEL_ENTRY);
    if (s->bound->dispatch)
        spyi_text_add(&kernel, ", uint3 spy_group : SV_GroupID, uint3 spy_local : SV_GroupThreadID, "
                               "uint spy_in_group : SV_GroupIndex");
    else if (threads[1] * threads[2] > 1 || key->team)
        spyi_text_add(&kernel, ", uint3 spy_group : SV_GroupID, uint spy_in_group : SV_GroupIndex");
    if (out->block_size && (out->block_by_address || !s->path->block_is_global))
        spyi_text_add(&kernel, ",\n                uniform SpyiBlock%s spyi_block",
                      out->block_by_address ? "*" : "");
    spyi_text_add(&kernel, "%s)\n{\n%s%s}\n", spyi_text_str(&s->buffers),
                  out->prints ? "    spyi_print_to(spyi_block._print);\n" : "", spyi_text_str(&s->body));
    const char *shape = s->bound->dispatch          ? "dispatch"
                        : key->rank == 0            ? "one element"
                        : key->finishes             ? "sums of sums"
                        : key->team                 ? "sums"
                        : key->grouped              ? "call groups"
                        : key->crosses              ? "wide, across rows"
                        : key->width > 1            ? "wide"
                        : spyi_needs_coordinates(s) ? "strided"
                                                    : "flat";
    uint32_t elements = (uint32_t)key->width * key->unroll;
    spyi_text_add(
        &out->text,
        "// %s\n// %s, %u dimension%s, %u element%s a thread, %u threads a group, %s%s%s\nimport %s;\n\n",
        s->bound->signature.display, shape, key->rank, key->rank == 1 ? "" : "s", elements,
        elements == 1 ? "" : "s", out->group_size, key->bindings ? "structured buffers" : "pointers",
        key->index64 ? ", 64-bit offsets" : "",
        function->object.device->bounds ? ", indices of whole tensors checked" : "",
        spyi_unit_name(function->module->unit));
    if (s->bound->uses_library) spyi_text_add(&out->text, "import slangpy_kernel;\n\n");
    if (s->bound->names_library) spyi_text_add(&out->text, "import slangpy;\n\n");
    if (s->bound->names_diff) spyi_text_add(&out->text, "import slangpy_diff;\n\n");
    // slangpy_atomic.slang: the device adds floats by itself.
    if (s->bound->names_library &&
        (function->object.device->base->limits.info.features & SPY_FEATURE_ATOMIC_FLOAT32_ADD))
        spyi_text_add(&out->text, "export public static const int slangpy_atomic_floats = 1;\n\n");
    if (out->prints) spyi_text_add(&out->text, "import slangpy_print;\n\n");
    spyi_emit_group_shape(s, &out->text);
    if (s->bound->options.prelude) spyi_text_add(&out->text, "%s\n", s->bound->options.prelude);
    if (key->team) spyi_text_add(&out->text, "import slangpy_sum;\n\n");
    if (hidden) spyi_emit_wrapper(s, spelling, &out->text);
    if (s->bound->mode && !key->finishes)
        spyi_emit_differentiable(s, hidden ? "spyi_called" : spelling, &out->text);
    spyi_text_add_n(&out->text, kernel.data, kernel.size);
    spyi_text_free(&kernel);
}

// Whether print() may be called: the module or the call's own Slang text has it.
static bool spyi_call_prints(const spy_function *function, const spyi_bound *bound) {
    const char *prelude = bound->options.prelude;
    if (!function->object.device->printer) return false;
    return spyi_unit_imports(function->module->unit, "slangpy_print") ||
           (prelude && strstr(prelude, "print"));
}

SPYI_FN bool spyi_call_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]) {
    const spyi_options *o = &bound->options;
    uint32_t rank = o->group.rank;
    for (uint32_t d = 0; d < SPY_MAX_RANK; d++) group[d] = 1;
    if (rank) {
        for (uint32_t d = 0; d < rank; d++) group[bound->rank - rank + d] = (uint32_t)o->group.dims[d];
        return bound->rank > 0;
    }
    if (o->threads[1] * o->threads[2] <= 1) return false;
    for (uint32_t i = 0; i < 3 && i < bound->rank; i++) group[bound->rank - 1 - i] = o->threads[i];
    return bound->rank > 0;
}

SPYI_FN uint32_t spyi_group_size(const spyi_bound *bound, const spyi_limits *limits, uint32_t rank) {
    const uint32_t *threads = bound->options.threads;
    if (threads[0]) return threads[0] * threads[1] * threads[2];
    if (rank == 0) return 1;
    return limits->info.max_group_size < 256 ? limits->info.max_group_size : 256;
}

SPYI_FN uint32_t spyi_most_rows(const spyi_limits *limits) {
    return limits->info.max_group_count < 65535 ? limits->info.max_group_count : 65535;
}

SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_bound *bound,
                             const spyi_variant_key *key, spyi_emitted *out, spyi_text *error) {
    spy_device *device = function->object.device;
    spyi_emit_state s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    s.bound = bound;
    s.key = key;
    s.types = device->types;
    s.path = spyi_path_of(device->base->limits.target);
    s.out = out;
    s.max_groups = spyi_most_rows(&device->base->limits);
    s.names = (char **)spyi_calloc(bound->leaf_count + 1, sizeof *s.names);
    s.lvalues = (char **)spyi_calloc(bound->leaf_count + 1, sizeof *s.lvalues);
    s.fresh = (bool *)spyi_calloc(bound->leaf_count + 1, sizeof *s.fresh);
    s.failed = !s.names || !s.lvalues || !s.fresh;
    out->group_size = spyi_group_size(bound, &device->base->limits, key->team ? 1 : key->rank);
    out->prints = spyi_call_prints(function, bound);
    if (!s.failed) spyi_make_names(&s);
    if (!s.failed) spyi_emit_text(&s, function);
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        if (s.names) free(s.names[i]);
        if (s.lvalues) free(s.lvalues[i]);
    }
    free(s.names);
    free(s.lvalues);
    free(s.fresh);
    spyi_text_free(&s.fields);
    spyi_text_free(&s.buffers);
    spyi_text_free(&s.holders);
    spyi_text_free(&s.body);
    if (!s.failed) return SPY_OK;
    spyi_emitted_free(out);
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN void spyi_emitted_free(spyi_emitted *emitted) {
    spyi_text_free(&emitted->text);
    free(emitted->packs);
    memset(emitted, 0, sizeof *emitted);
}
