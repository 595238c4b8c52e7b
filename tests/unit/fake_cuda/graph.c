// Graphs of the driver, and the capture of streams as graphs. The parameter structs are written down anew, from cuda.h's documentation:
// the library's own are what is tested.
#include "driver.h"

typedef struct kernel_params {
    void *function;
    unsigned gx, gy, gz, bx, by, bz, shared;
    void **params, **extra;
} kernel_params;

typedef struct copy_params {
    size_t from_x, from_y, from_z, from_lod;
    unsigned from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array, *from_reserved;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_lod;
    unsigned to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array, *to_reserved;
    size_t to_pitch, to_height;
    size_t width, height, depth;
} copy_params;

typedef struct fill_params {
    uint64_t to;
    size_t pitch;
    unsigned value, element_size;
    size_t width, height;
} fill_params;

typedef enum kind { EMPTY, KERNEL, COPY, FILL } kind;

#define MOST_NODES 1024
#define MOST_BEFORE 256

typedef struct node {
    kind kind;
    unsigned number, before_count, before[MOST_BEFORE];
    const fake_function *function; // of kernels
    unsigned grid[3], group[3], shared;
    void *params[FAKE_MOST_PARAMS]; // copies
    copy_params copy;
    fill_params fill;
} node;

typedef struct graph { // also the executable one, a copy
    node *nodes[MOST_NODES];
    unsigned count, edges;
} graph;

static void take_params(node *n, const kernel_params *p) {
    for (unsigned i = 0; i < FAKE_MOST_PARAMS; i++) free(n->params[i]), n->params[i] = NULL;
    n->function = (const fake_function *)p->function;
    n->grid[0] = p->gx, n->grid[1] = p->gy, n->grid[2] = p->gz;
    n->group[0] = p->bx, n->group[1] = p->by, n->group[2] = p->bz;
    n->shared = p->shared;
    for (unsigned i = 0; i < n->function->param_count; i++) n->params[i] = copy_of(p->params[i], n->function->sizes[i]);
}

static int add(kind what, void **out, void *handle, void *const *before, size_t count, const void *params) {
    graph *g = (graph *)handle;
    node *n = (node *)calloc(1, sizeof *n);
    if (!n || g->count == MOST_NODES || count > MOST_BEFORE) return 1;
    n->kind = what;
    n->number = g->count;
    n->before_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        n->before[i] = ((const node *)before[i])->number;
        if (n->before[i] >= g->count || g->nodes[n->before[i]] != before[i]) return 1; // of another graph
        for (size_t k = 0; k < i; k++)
            if (before[k] == before[i]) return 1; // the driver takes no edge twice
    }
    if (what == KERNEL) take_params(n, (const kernel_params *)params);
    if (what == COPY) n->copy = *(const copy_params *)params;
    if (what == FILL) n->fill = *(const fill_params *)params;
    g->edges += (unsigned)count;
    g->nodes[g->count++] = n;
    *out = n;
    return 0;
}

static void destroy(graph *g) {
    for (unsigned i = 0; i < g->count; i++) {
        for (unsigned k = 0; k < FAKE_MOST_PARAMS; k++) free(g->nodes[i]->params[k]);
        free(g->nodes[i]);
    }
    free(g);
}

FAKE(cuGraphCreate, (void **out, unsigned flags)) {
    MAY_FAIL("cuGraphCreate");
    state.graphs++;
    *out = calloc(1, sizeof(graph));
    return (int)flags;
}
FAKE(cuGraphDestroy, (void *handle)) {
    state.graphs--;
    destroy((graph *)handle);
    return 0;
}
FAKE(cuGraphAddKernelNode, (void **out, void *handle, void *const *before, size_t count, const kernel_params *params)) {
    MAY_FAIL("cuGraphAddKernelNode");
    if (!params->gx || !params->gy || !params->gz || !params->bx || !params->by || !params->bz || params->extra) return 1;
    if (!shared_fits((const fake_function *)params->function, params->shared)) return 1;
    return add(KERNEL, out, handle, before, count, params);
}
FAKE(cuGraphAddMemcpyNode, (void **out, void *handle, void *const *before, size_t count, const copy_params *params, void *of)) {
    MAY_FAIL("cuGraphAddMemcpyNode");
    if (of != now() || params->from_type != 2 || params->to_type != 2 || params->height != 1 || params->depth != 1) return 1;
    return add(COPY, out, handle, before, count, params);
}
FAKE(cuGraphAddMemsetNode, (void **out, void *handle, void *const *before, size_t count, const fill_params *params, void *of)) {
    MAY_FAIL("cuGraphAddMemsetNode");
    if (of != now() || params->element_size != 4 || params->height != 1) return 1;
    return add(FILL, out, handle, before, count, params);
}
FAKE(cuGraphAddEmptyNode, (void **out, void *handle, void *const *before, size_t count)) {
    MAY_FAIL("cuGraphAddEmptyNode");
    return add(EMPTY, out, handle, before, count, NULL);
}

FAKE(cuGraphInstantiateWithFlags, (void **out, void *handle, unsigned long long flags)) {
    const graph *g = (const graph *)handle;
    MAY_FAIL("cuGraphInstantiateWithFlags");
    UNSAFE();
    graph *exec = (graph *)calloc(1, sizeof *exec);
    if (!exec || flags) return 1;
    state.nodes = g->count;
    state.edges = g->edges;
    state.empty = 0;
    for (unsigned i = 0; i < g->count; i++) {
        node *n = (node *)malloc(sizeof *n);
        *n = *g->nodes[i];
        for (unsigned k = 0; n->function && k < n->function->param_count; k++) n->params[k] = copy_of(n->params[k], n->function->sizes[k]);
        exec->nodes[exec->count++] = n;
        state.empty += n->kind == EMPTY;
    }
    state.execs++;
    *out = exec;
    return 0;
}
FAKE(cuGraphExecDestroy, (void *handle)) {
    state.execs--;
    destroy((graph *)handle);
    return 0;
}
FAKE(cuGraphExecKernelNodeSetParams, (void *handle, void *of, const kernel_params *params)) {
    MAY_FAIL("cuGraphExecKernelNodeSetParams");
    node *n = ((graph *)handle)->nodes[((const node *)of)->number];
    if (n->kind != KERNEL || n->function != params->function) return 1;
    state.changes++;
    take_params(n, params);
    return 0;
}

static void run_node(const node *n) {
    const copy_params *c = &n->copy;
    if (n->kind == KERNEL) state.shared = n->shared, run(n->function, n->grid, n->group, (void **)(uintptr_t)n->params);
    if (n->kind == COPY) memmove((char *)(uintptr_t)c->to_device + c->to_x, (char *)(uintptr_t)c->from_device + c->from_x, c->width);
    if (n->kind == FILL) fill(n->fill.to, n->fill.value, n->fill.width);
}

// In any order that the edges allow: what is missing of them shows as wrong data.
FAKE(cuGraphLaunch, (void *handle, void *stream)) {
    const graph *g = (const graph *)handle;
    unsigned char done[MOST_NODES] = { 0 };
    MAY_FAIL("cuGraphLaunch");
    if (capture_of(stream)) return invalidate(capture_of(stream), UNSUPPORTED); // CUDA might take it; the library shall not ask
    state.stream = stream;
    state.graph_launches++;
    for (unsigned left = g->count; left > 0; left--) {
        unsigned ready[MOST_NODES], count = 0;
        for (unsigned i = 0; i < g->count; i++) {
            unsigned waits = 0;
            for (unsigned k = 0; k < g->nodes[i]->before_count; k++) waits += !done[g->nodes[i]->before[k]];
            if (!done[i] && !waits) ready[count++] = i;
        }
        state.random = state.random * 6364136223846793005u + 1442695040888963407u;
        unsigned chosen = ready[(state.random >> 33) % count];
        done[chosen] = 1;
        run_node(g->nodes[chosen]);
    }
    return 0;
}

// >>capturing: what a captured stream is given becomes a node behind what it was given before

FAKE(cuStreamBeginCapture_v2, (void *handle, int mode)) {
    queue *s = real(handle);
    if (!s || capture_of(s) || capture_count == MOST_CAPTURES) return UNSUPPORTED;
    capture *c = &captures[capture_count++];
    *c = (capture){ ACTIVE, mode, s, &mode_now, (graph *)calloc(1, sizeof(graph)) };
    s->capture = c;
    s->last_count = 0;
    state.graphs++;
    return 0;
}
// Whether something of the capture was not waited for by the stream that it began in.
static int unjoined(const capture *c) {
    for (unsigned i = 0; i < c->graph->count; i++) {
        int waited = 0;
        for (unsigned k = i + 1; k < c->graph->count; k++)
            for (unsigned j = 0; j < c->graph->nodes[k]->before_count; j++) waited |= c->graph->nodes[k]->before[j] == i;
        for (unsigned k = 0; k < c->origin->last_count; k++) waited |= c->origin->last[k] == c->graph->nodes[i];
        if (!waited) return 1;
    }
    return 0;
}
FAKE(cuStreamEndCapture, (void *handle, void **out)) {
    capture *c = capture_of(handle);
    *out = NULL;
    if (!c || c->origin != handle) return UNMATCHED;
    if (c->thread != &mode_now && c->mode != RELAXED) return WRONG_THREAD;
    int result = c->status == INVALID ? INVALIDATED : unjoined(c) ? UNJOINED : 0;
    c->status = NONE;
    c->origin->capture = NULL;
    if (result) destroy(c->graph), state.graphs--;
    else *out = c->graph;
    return result;
}

// Adds a node to the capture of the stream.
static node *capture_node(void *handle, kind what) {
    queue *s = real(handle);
    graph *g = s->capture->graph;
    node *n = s->capture->status == ACTIVE && g->count < MOST_NODES ? (node *)calloc(1, sizeof *n) : NULL;
    if (!n) return NULL;
    n->kind = what;
    n->number = g->count;
    n->before_count = s->last_count;
    for (unsigned i = 0; i < s->last_count; i++) n->before[i] = s->last[i]->number;
    g->edges += s->last_count;
    g->nodes[g->count++] = s->last[0] = n;
    s->last_count = 1;
    return n;
}
int capture_copy(void *stream, uint64_t to, uint64_t from, size_t size) {
    if (!is_ours(from, size) || !is_ours(to, size)) return invalidate(capture_of(stream), UNSUPPORTED);
    node *n = capture_node(stream, COPY);
    if (!n) return INVALIDATED;
    n->copy.from_device = from;
    n->copy.to_device = to;
    n->copy.width = size;
    return 0;
}
int capture_fill(void *stream, uint64_t to, unsigned value, size_t count) {
    node *n = capture_node(stream, FILL);
    if (!n) return INVALIDATED;
    n->fill.to = to;
    n->fill.value = value;
    n->fill.width = count;
    return 0;
}
int capture_launch(void *stream, const fake_function *function, const unsigned *grid, const unsigned *group, void **params) {
    node *n = capture_node(stream, KERNEL);
    if (!n) return INVALIDATED;
    n->function = function;
    memcpy(n->grid, grid, sizeof n->grid);
    memcpy(n->group, group, sizeof n->group);
    n->shared = state.shared; // shared_fits() has noted it
    for (unsigned i = 0; i < function->param_count; i++) n->params[i] = copy_of(params[i], function->sizes[i]);
    return 0;
}
