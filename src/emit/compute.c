// The compute prologue: a thread of a compute kernel works on one or several of the call's elements. This
// file writes the entry point's attributes, and the parameters that the system fills; the number of the
// thread's first element, which depends on the layout of groups and of call groups; the guard that ends
// threads behind the last element; the element's coordinates in the call, and from them the offsets of
// strided leaves; the loads that happen once a thread (wide.c has those of vectors), the calls for each
// element, and the stores. The prologue of kernels that sum gradients (team.c) uses the coordinates and
// indices of this one.
#include "emit/internal.h"

#define SPYI_MOST_ELEMENTS 16

// >>groups

SPYI_FN bool spyi_given_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]) {
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

// Returns whether threads go tile by tile: in forward calls that move elements of textures and nothing else. A GPU keeps
// a small block of several rows of an image in one piece of memory. On NVIDIA 32 bytes, the least that is moved, are
// 16 bytes of one row and 16 of the next; threads along one row move twice what they use.
static bool spyi_is_tiled(const spyi_bound *bound) {
    bool any = false;
    const spyi_options *o = &bound->options;
    if (bound->mode || bound->dispatch || bound->rank < 2 || o->threads[0] || o->group.rank) return false;
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        const spyi_leaf *leaf = &bound->leaves[i];
        if (spyi_leaf_in_memory(leaf)) return false;
        any = any || ((leaf->traits & SPYI_TRAIT_TILED) && leaf->batch_rank >= 2);
    }
    return any;
}

// The edge of a tile in elements; the 32 threads of a tile are 8 x 4 texels.
#define SPYI_TILE 8u

SPYI_FN bool spyi_call_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]) {
    if (spyi_given_group(bound, group)) return true;
    if (!spyi_is_tiled(bound)) return false;
    group[bound->rank - 1] = group[bound->rank - 2] = SPYI_TILE;
    return true;
}

// Returns true for forward calls of networks on the matrix units, where warps of a group share nothing. Their kernels
// use so many registers that groups of 64 threads leave fewer of a multiprocessor's registers unused than groups of
// 256: they take 6 to 16 % less time on an H100 (docs/measurements.md).
static bool spyi_warps_alone(const spyi_bound *bound) {
    uint32_t group[SPY_MAX_RANK];
    return bound->whole_warps && bound->mode == SPY_CALL_MODE_DEFAULT && !bound->combine &&
           !spyi_call_group(bound, group);
}

SPYI_FN uint32_t spyi_group_size(const spyi_bound *bound, const spyi_profile *profile, uint32_t rank) {
    const uint32_t *threads = bound->options.threads;
    if (threads[0]) return threads[0] * threads[1] * threads[2];
    if (rank == 0) return 1;
    uint32_t size = spyi_warps_alone(bound) ? 64 : 256;
    return profile->max_group_size < size ? profile->max_group_size : size;
}

SPYI_FN uint32_t spyi_most_rows(const spyi_profile *profile) {
    return profile->max_group_count < 65535 ? profile->max_group_count : 65535;
}

// >>coordinates

// Writes the number of the current element in the call, as an expression.
SPYI_FN void spyi_compute_number(const spyi_emit_state *s, spyi_text *out) {
    if (s->key->reordered) {
        for (uint32_t d = 0; d < s->key->rank; d++)
            spyi_text_add(out, "%sint(spy_c%u%s) * spyi_block._element%u", d ? " + " : "", d, s->unit, d);
        return;
    }
    if (s->key->rank == 0) spyi_text_add(out, "0");
    else if (s->key->team)
        spyi_text_add(out, s->element ? "int(spy_i%s + %u)" : "int(spy_i%s)", s->unit, s->element);
    else if (s->key->unroll > 1) spyi_text_add(out, "int(spy_i%s)", s->suffix);
    else spyi_text_add(out, s->element ? "int(spy_i + %u)" : "int(spy_i)", s->element);
}

SPYI_FN void spyi_emit_coordinates(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int", *own = spyi_own_suffix(s);
    // The innermost coordinate comes first. Divisions are done as multiplications, which are exact for
    // numbers below 2^31.
    if (key->rank > 1)
        spyi_text_add(body, "    uint spy_rest%s = spy_i%s;\n    uint spy_high%s;\n", s->unit, s->unit,
                      s->unit);
    for (uint32_t d = key->rank - 1u; d >= 1; d--) {
        spyi_text_add(
            body,
            "    spy_high%s = (uint((uint64_t(spy_rest%s) * spyi_block._magic%u) >> 32) + spy_rest%s) >> "
            "spyi_block._shift%u;\n"
            "    %s spy_c%u%s = %s(spy_rest%s - spy_high%s * spyi_block._size%u);\n    spy_rest%s = "
            "spy_high%s;\n",
            s->unit, s->unit, d, s->unit, d, index, d, own, index, s->unit, s->unit, d, s->unit, s->unit);
    }
    spyi_text_add(body, "    %s spy_c0%s = %s(%s%s);\n", index, own, index,
                  key->rank > 1 ? "spy_rest" : "spy_i", s->unit);
}

// Writes the coordinates of the thread's next element. Behind the end they are those of the last element of
// the call.
static void spyi_emit_next_coordinates(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int";
    uint32_t last = key->rank - 1u;
    for (uint32_t d = 0; d <= last; d++)
        spyi_text_add(body, "    %s spy_c%u_%u = spy_c%u_%u;\n", index, d, s->element, d, s->element - 1);
    spyi_text_add(body, "    if (spy_valid > %u && ++spy_c%u_%u == %s(spyi_block._size%u)) {\n", s->element,
                  last, s->element, index, last);
    for (uint32_t d = last; d > 1; d--)
        spyi_text_add(body,
                      "        spy_c%u_%u = 0;\n        if (++spy_c%u_%u == %s(spyi_block._size%u)) {\n", d,
                      s->element, d - 1, s->element, index, d - 1);
    spyi_text_add(body, "        spy_c1_%u = 0;\n        ++spy_c0_%u;\n    ", s->element, s->element);
    for (uint32_t d = last; d > 1; d--) spyi_text_add(body, "}");
    spyi_text_add(body, "}\n");
}

// Writes the offset of each strided leaf's element, from the coordinates.
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
            else if (key->width > 1) spyi_text_add(body, "spy_c%u%s / %u", d, s->unit, key->width);
            else spyi_text_add(body, "spy_c%u%s", d, s->unit);
        }
        spyi_text_add(body, first ? "0;\n" : ";\n");
    }
}

// Writes the current element's index in the memory of leaf `i`, counted from the leaf's base. Writes nothing
// if all elements have index 0. For wide leaves it is the index of the thread's access number `access`.
SPYI_FN void spyi_compute_index(const spyi_emit_state *s, uint32_t i, uint32_t access, bool store,
                                spyi_text *out) {
    const spyi_variant_key *key = s->key;
    const char *name = s->names[i];
    uint32_t walk = spyi_walk_of(s, i);
    if (spyi_is_wide(s, i)) {
        uint32_t n = spyi_vectors(s, i) / spyi_packed(s, i);
        if (walk == SPYI_WALK_LINEAR) spyi_text_add(out, "spy_vector%s", s->unit);
        else spyi_text_add(out, "%s_at%s", name, s->unit);
        if (n > 1) spyi_text_add(out, " * %u", n);
        if (access) spyi_text_add(out, " + %u", access);
    } else if (walk == SPYI_WALK_LINEAR && key->team) {
        spyi_text_add(out, "spy_i%s", s->unit);
    } else if (walk == SPYI_WALK_LINEAR) {
        // A thread loads all of its elements, so that the loads are under way together. The last element is
        // loaded in place of elements behind the end.
        const char *form = s->suffix[0] && !store ? "min(spy_i%s, spy_last)" : "spy_i%s";
        spyi_text_add(out, form, s->suffix);
    } else if (walk != SPYI_WALK_UNIFORM) {
        spyi_text_add(out, "%s_at%s", name, spyi_own_suffix(s));
        if (walk == SPYI_WALK_STRIDED && key->width > 1 && !key->crosses && s->element) {
            spyi_text_add(out, spyi_has_tail(s) ? " + int(min(%uu, spy_valid - 1))" : " + %u", s->element);
            spyi_text_add(out, " * spyi_block.%s__stride%u", name, key->rank - 1u);
        }
    }
}

// Writes the coordinates and offsets of all elements of a thread.
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

// >>a thread's elements

// Writes, for call groups: the thread's number, its call group and place in that group, the coordinates (from
// the last dimension to the first), and the element's number.
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
        spyi_text_add(body, "    uint spy_n%u = (uint(spyi_block._shape[%u]) + %u) / %u;\n", d, d,
                      group[d] - 1, group[d]);
        const char *type = s->key->index64 ? "int64_t" : "int";
        if (d) {
            spyi_text_add(body, "    %s spy_c%u = %s(spy_g %% spy_n%u * %u + spy_m %% %u);\n", type, d, type,
                          d, group[d], group[d]);
            spyi_text_add(body, "    spy_g /= spy_n%u;\n    spy_m /= %u;\n", d, group[d]);
        } else { // the last dimension takes the remainder without a division, since the guard ends groups
                 // behind the last one
            spyi_text_add(body, "    %s spy_c0 = %s(spy_g * %u + spy_m);\n", type, type, group[0]);
        }
    }
    spyi_text_add(body, "    if (spy_g >= spy_n0");
    for (uint32_t d = 0; d < b->rank; d++) spyi_text_add(body, " || spy_c%u >= spyi_block._shape[%u]", d, d);
    spyi_text_add(body, ") return;\n    uint spy_i = uint(spy_c0);\n");
    for (uint32_t d = 1; d < b->rank; d++)
        spyi_text_add(body, "    spy_i = spy_i * uint(spyi_block._shape[%u]) + uint(spy_c%u);\n", d, d);
}

// Writes, for dispatches: the ids of the thread if its groups were folded, and the guard that ends threads
// beyond the count.
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
        spyi_text_add(
            &s->body,
            "    if (spy_thread.x >= spyi_block._threads[0] || spy_thread.y >= spyi_block._threads[1] || "
            "spy_thread.z >= spyi_block._threads[2]) return;\n");
}

static void spyi_emit_index(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    if (s->bound->dispatch) spyi_emit_threads(s);
    else if (key->rank == 0 &&
             s->out->group_size > 1) // the other threads of the caller's group have no element
        spyi_text_add(body, "    if (any(spy_thread != 0)) return;\n");
    if (key->rank == 0) return;
    if (key->grouped) {
        spyi_emit_groups(s);
        spyi_emit_offsets(s, false);
        return;
    }
    const char *thread = key->folded                      ? "spy_thread.y * spyi_block._row + spy_thread.x"
                         : key->batch == SPYI_BATCH_ROOMS ? "spy_at"
                                                          : "spy_thread.x";
    if (key->width > 1) {
        spyi_text_add(body, "    uint spy_vector = %s;\n    uint spy_i = spy_vector * %u;\n", thread,
                      key->width);
    } else if (key->unroll > 1) {
        uint32_t group = s->out->group_size;
        spyi_text_add(body, "    uint spy_t = %s;\n    uint spy_i_0 = spy_t / %u * %u + spy_t %% %u;\n",
                      thread, group, group * key->unroll, group);
        spyi_text_add(
            body,
            "    if (spy_i_0 >= spyi_block._count) return;\n    uint spy_last = spyi_block._count - 1;\n");
        for (uint32_t k = 1; k < key->unroll; k++)
            spyi_text_add(body, "    uint spy_i_%u = spy_i_0 + %u;\n", k, group * k);
        return; // flat variants need no coordinates
    } else {
        spyi_text_add(body, "    uint spy_i = %s;\n", thread);
    }
    if (spyi_fills_warps(s))
        spyi_text_add(
            body, "    // A network multiplies for a whole warp: threads behind the last element compute it "
                  "once more and store nothing.\n"
                  "    bool spy_inside = spy_i < spyi_block._count;\n"
                  "    spy_i = min(spy_i, spyi_block._count - 1);\n");
    else spyi_text_add(body, "    if (spy_i >= spyi_block._count) return;\n");
    if (!spyi_needs_coordinates(s) || key->crosses) return;
    spyi_emit_coordinates(s);
    spyi_emit_offsets(s, false);
}

SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!spyi_leaf_in_memory(&s->bound->leaves[i]) || spyi_is_skipped(s, i)) continue;
        if (spyi_is_wide(s, i) && !s->key->team) spyi_load_vectors(s, i);
        else if (spyi_is_hoisted(s, i)) spyi_load_hoisted(s, i);
    }
}

static void spyi_compute_body(spyi_emit_state *s) {
    uint32_t elements = s->key->rank ? (uint32_t)s->key->width * s->key->unroll : 1;
    bool wide = s->key->width > 1, tail = spyi_has_tail(s);
    spyi_text arguments[SPYI_MOST_ELEMENTS];
    memset(arguments, 0, sizeof arguments);
    if (s->key->batch == SPYI_BATCH_ROOMS) spyi_open_rooms(s);
    spyi_emit_index(s);
    if (tail)
        spyi_text_add(&s->body, "    uint spy_valid = min(%uu, spyi_block._count - spy_i);\n", s->key->width);
    if (s->key->crosses) spyi_emit_crossing(s);
    spyi_emit_thread_loads(s);
    // All loads come first, so that they are under way together; then come each element's call and stores.
    for (s->element = 0; s->element < elements; s->element++) {
        if (elements > 1) snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        s->wrapper->arguments(s, &arguments[s->element]);
    }
    for (s->element = 0; s->element < elements; s->element++) {
        bool guarded = tail && s->element > 0;
        if (elements > 1) snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        if (guarded) spyi_text_add(&s->body, "    if (spy_valid > %u) {\n", s->element);
        else if (!wide && s->element > 0)
            spyi_text_add(&s->body, "    if (spy_i%s >= spyi_block._count) return;\n", s->suffix);
        spyi_emit_call(s, spyi_text_str(&arguments[s->element]), guarded ? "        " : "    ");
        if (guarded) spyi_text_add(&s->body, "    }\n");
        spyi_text_free(&arguments[s->element]);
    }
    s->element = 0;
    s->suffix[0] = 0;
    spyi_store_vectors(s);
    if (s->key->batch == SPYI_BATCH_ROOMS) spyi_close_rooms(s);
}

// >>the prologue

SPYI_FN const char *spyi_compute_name(const spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    return s->bound->dispatch          ? "dispatch"
           : key->rank == 0            ? "one element"
           : key->finishes             ? "sums of sums"
           : key->team                 ? "sums"
           : key->grouped              ? spyi_is_tiled(s->bound) ? "tiles" : "call groups"
           : key->crosses              ? "wide, across rows"
           : key->width > 1            ? "wide"
           : spyi_needs_coordinates(s) ? "strided"
                                       : "flat";
}

SPYI_FN void spyi_declare_sizes(spyi_emit_state *s) {
    for (uint32_t d = 1; d < s->key->rank && spyi_needs_coordinates(s); d++) {
        spyi_add_field(s, SPYI_PACK_SIZE, d, 0, 4, 4, "uint _size%u", d);
        spyi_add_field(s, SPYI_PACK_MAGIC, d, 0, 4, 4, "uint _magic%u", d);
        spyi_add_field(s, SPYI_PACK_SHIFT, d, 0, 4, 4, "uint _shift%u", d);
    }
}

static void spyi_compute_fields(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    const spyi_bound *b = s->bound;
    if (key->rank > 0) spyi_add_field(s, SPYI_PACK_COUNT, 0, 0, 4, 4, "uint _count");
    if ((key->folded && !b->dispatch) || key->batch == SPYI_BATCH_ROOMS)
        spyi_add_field(s, SPYI_PACK_ROW, 0, 0, 4, 4, "uint _row");
    if (b->guarded) spyi_add_numbers(s, SPYI_PACK_THREADS, "_threads");
    if (b->dispatch && key->folded) spyi_add_numbers(s, SPYI_PACK_GROUPS, "_groups");
    if (b->uses_library || b->call_info || key->grouped) spyi_declare_shape(s);
    if (!key->grouped) spyi_declare_sizes(s);
}

SPYI_FN void spyi_compute_head(const spyi_emit_state *s, spyi_text *out) {
    const uint32_t *threads = s->bound->options.threads;
    spyi_text_add(out,
                  "\n[shader(\"compute\")]\n[numthreads(%u, %u, %u)]\nvoid %s(uint3 spy_thread : "
                  "SV_DispatchThreadID",
                  threads[0] ? threads[0] : s->out->group_size, threads[0] ? threads[1] : 1,
                  threads[0] ? threads[2] : 1, SPYI_KERNEL_ENTRY);
    if (s->bound->dispatch)
        spyi_text_add(out, ", uint3 spy_group : SV_GroupID, uint3 spy_local : SV_GroupThreadID, "
                           "uint spy_in_group : SV_GroupIndex");
    else if (threads[1] * threads[2] > 1 || s->key->team || s->key->tile)
        spyi_text_add(out, ", uint3 spy_group : SV_GroupID, uint spy_in_group : SV_GroupIndex");
}

SPYI_FN const spyi_prologue *spyi_compute_prologue(void) {
    static const spyi_prologue prologue = { spyi_compute_name, spyi_compute_head,   spyi_compute_fields,
                                            spyi_compute_body, spyi_compute_number, spyi_compute_index };
    return &prologue;
}
