// Records a graph: begins it, adds inputs, steps and outputs, and frees it.
#include "data/type_name.h"
#include "fuse/fuse.h"
#include "fuse/fusion.h"

static spyi_atomic spyi_fusion_numbers; // the number of the newest graph of the process

// >>the graph as an object of its device

static void spyi_step_free(spyi_fused_step *s) {
    for (uint32_t i = 0; s->names && i < s->count; i++) free(s->names[i]);
    for (uint32_t i = 0; i < s->param_count; i++) free(s->params[i].name);
    free(s->names);
    free(s->operands);
    free(s->params);
    free(s->spelling);
    free(s->name);
}

static void spyi_fusion_free(spy_fusion *g) {
    spy_device *device = g->object.device;
    if (g->previous) g->previous->next = g->next;
    else device->fusions = g->next;
    if (g->next) g->next->previous = g->previous;
    for (uint32_t i = 1; i < g->count; i++) spyi_step_free(&g->steps[i]);
    for (uint32_t i = 0; i < g->output_count; i++) free(g->outputs[i].name);
    for (uint32_t i = 0; i < g->module_count; i++) spyi_module_drop(g->modules[i]);
    free(g->modules);
    free(g->steps);
    free(g->outputs);
    free(g->name);
    spyi_retire_object(device, &g->object, sizeof *g);
}

static void spyi_fusion_release(spyi_object *object) {
    spyi_fusion_free((spy_fusion *)(void *)object);
}

SPYI_FN void spyi_fusions_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_fusion_release, NULL };
    device->ctx.tables[SPYI_KIND_FUSION - SPYI_KIND_DEVICE] = &table;
}

SPYI_FN void spyi_fusions_free_all(spy_device *device) {
    while (device->fusions) spyi_fusion_free(device->fusions);
}

spy_fusion *spy_fuse_begin(spy_device *device, const spy_fuse_desc *desc) {
    const char *function = "spy_fuse_begin";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    const char *problem = SPYI_DESC_PROBLEM(spy_fuse_desc, desc),
               *name = desc && desc->name ? desc->name : "fused";
    spy_fusion *g = NULL;
    if (problem) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function, problem);
    } else if (desc && (unsigned)desc->backward > SPY_FUSE_BACKWARD_STORE) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: desc.backward: expected a spy_fuse_backward, got %d", function, (int)desc->backward);
    } else if (!spyi_is_identifier(name) || strncmp(name, "spyi_", 5) == 0) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: desc.name: expected an identifier, got \"%s\"", function, name);
    } else {
        g = (spy_fusion *)spyi_allocate(&device->ctx, sizeof *g);
        char *copy = spyi_strdup(name);
        if (!g || !copy) {
            spyi_free(&device->ctx, g, sizeof *g);
            free(copy);
            g = NULL;
            spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        } else {
            g->object.kind = (uint32_t)SPYI_KIND_FUSION;
            g->object.device = device;
            spyi_atomic_store(&g->object.references, 1);
            g->number = (uint32_t)spyi_atomic_add(&spyi_fusion_numbers, 1);
            g->name = copy;
            g->count = 1;
            g->backward = desc ? desc->backward : SPY_FUSE_BACKWARD_DEFAULT;
            g->next = device->fusions;
            if (g->next) g->next->previous = g;
            device->fusions = g;
        }
    }
    spyi_leave(device);
    return g;
}

void spy_fuse_cancel(spy_fusion *fusion) {
    if (!fusion || spyi_enter(fusion, SPYI_KIND_FUSION, "spy_fuse_cancel") != SPY_OK) return;
    spy_device *device = fusion->object.device;
    spyi_fusion_free(fusion);
    spyi_leave(device);
}

// >>errors

// Reports an error of the graph. The graph cannot be used afterwards.
static void spyi_fusion_fail(spy_fusion *g, const char *function, spy_status status, const char *words) {
    g->failed = true;
    spyi_fail(&g->object.device->ctx, status, "%s: '%s': %s", function, g->name, words);
}

static void spyi_fusion_fail_text(spy_fusion *g, const char *function, spy_status status, spyi_text *words) {
    spyi_fusion_fail(g, function, status, spyi_text_str(words));
    spyi_text_free(words);
}

// >>steps

static spyi_fused_step *spyi_step_add(spy_fusion *g, spyi_step_kind kind, const char *name, uint32_t count) {
    if (g->count >= g->capacity) {
        uint32_t capacity = g->capacity ? g->capacity * 2 : 32;
        spyi_fused_step *steps = (spyi_fused_step *)spyi_realloc(g->steps, capacity * sizeof *steps);
        if (!steps) return NULL;
        g->steps = steps;
        g->capacity = capacity;
    }
    spyi_fused_step *s = &g->steps[g->count];
    memset(s, 0, sizeof *s);
    s->kind = (uint8_t)kind;
    s->name = spyi_strdup(name);
    s->operands = count ? (uint32_t *)spyi_calloc(count, sizeof *s->operands) : NULL;
    if ((name && !s->name) || (count && !s->operands)) {
        spyi_step_free(s);
        return NULL;
    }
    s->count = count;
    g->count++;
    return s;
}

static bool spyi_name_operand(spyi_fused_step *s, uint32_t operand, const char *name) {
    if (!name) return true;
    if (!s->names) s->names = (char **)spyi_calloc(s->count, sizeof *s->names);
    if (s->names) s->names[operand] = spyi_strdup(name);
    return s->names && s->names[operand];
}

// Returns the step of a value of this graph. For any other value it returns 0, with the reason in `error`.
static uint32_t spyi_step_of(const spy_fusion *g, uint64_t graph, uint64_t index, spyi_text *error) {
    if (graph == g->number && index && index < g->count) return (uint32_t)index;
    if (!graph)
        spyi_text_add(error, "expected a value of the graph, got none (graph 0), as a failed step gives it");
    else
        spyi_text_add(
            error,
            "expected a value of graph %u, got one of graph %llu: a traced value belongs to the graph that "
            "made it, and ends with it",
            g->number, (unsigned long long)graph);
    return 0;
}

static bool spyi_step_constant(spy_fusion *g, const spy_arg *arg, uint32_t *step) {
    spyi_fused_step *s = spyi_step_add(g, SPYI_STEP_CONSTANT, NULL, 0);
    if (!s) return false;
    s->dtype = arg->dtype;
    s->value.u = arg->value.u;
    // A number given from C without a type takes the type of the other operand.
    s->typed = arg->dtype != SPY_DTYPE_FLOAT32 && arg->dtype != SPY_DTYPE_INT32 &&
               arg->dtype != SPY_DTYPE_FLOAT64 && arg->dtype != SPY_DTYPE_BOOL;
    if (arg->dtype == SPY_DTYPE_FLOAT64) s->dtype = SPY_DTYPE_FLOAT32;
    *step = g->count - 1;
    return true;
}

static bool spyi_step_list(spy_fusion *g, spy_args args, uint32_t *steps, spyi_text *error);

// Makes a vector of a host array of 1 to 4 numbers.
static bool spyi_step_array(spy_fusion *g, const spy_arg *arg, uint32_t *step, spyi_text *error) {
    int64_t n = arg->count == 1 ? arg->dims[0] : 0;
    spy_dtype dtype = arg->dtype == SPY_DTYPE_DEFAULT ? SPY_DTYPE_FLOAT32 : arg->dtype;
    uint32_t parts[4];
    if (n < 1 || n > 4 || !arg->value.data || arg->direction != SPY_DIRECTION_DEFAULT ||
        dtype >= SPY_DTYPE_COUNT) {
        spyi_text_add(error, "a constant array has one dimension of 1 to 4 numbers; give others as an input");
        return false;
    }
    const spyi_type *type = spyi_type_vector(g->object.device->types, dtype, (uint32_t)n);
    for (int64_t i = 0; i < n; i++) {
        const char *at = (const char *)arg->value.data + (size_t)i * spy_dtype_size_bytes(dtype);
        bool real = dtype >= SPY_DTYPE_FLOAT16;
        spy_dtype wide = real                      ? SPY_DTYPE_FLOAT64
                         : dtype == SPY_DTYPE_BOOL ? SPY_DTYPE_UINT64
                                                   : SPY_DTYPE_INT64;
        if (dtype == SPY_DTYPE_UINT64) wide = SPY_DTYPE_UINT64;
        spyi_fused_step *s = spyi_step_add(g, SPYI_STEP_CONSTANT, NULL, 0);
        if (!s || !spyi_convert_scalars(&s->value, wide, at, dtype, 1)) return false;
        s->dtype = dtype;
        s->typed = true;
        parts[i] = g->count - 1;
    }
    spyi_fused_step *s = spyi_step_add(g, SPYI_STEP_MAKE, spyi_spell(type), (uint32_t)n);
    if (!s) return false;
    memcpy(s->operands, parts, (size_t)n * sizeof *parts);
    *step = g->count - 1;
    return true;
}

// Makes a struct of its fields. `type` is its name; NULL means the type of the parameter that takes it.
static bool spyi_step_fields(spy_fusion *g, const char *type, spy_args args, uint32_t *step,
                             spyi_text *error) {
    uint32_t *steps = (uint32_t *)spyi_calloc(args.count + 1, sizeof *steps);
    bool good = steps && spyi_step_list(g, args, steps, error);
    spyi_fused_step *s = good ? spyi_step_add(g, SPYI_STEP_FIELDS, NULL, (uint32_t)args.count) : NULL;
    good = s != NULL;
    uint32_t made = g->count - 1;
    for (uint32_t i = 0; good && i < args.count; i++) {
        s->operands[i] = steps[i];
        good = spyi_name_operand(s, i, args.items[i].name);
        if (good && !args.items[i].name) {
            spyi_text_add(error, "a struct is given by its fields: expected a name for value %u, got none",
                          i + 1);
            good = false;
        }
    }
    const spyi_type *found = good && type ? spyi_fusion_type(g, type) : NULL;
    if (good && type && !found) {
        spyi_text_add(error, "expected a type, got '%s', which no module of the graph knows", type);
        good = false;
    }
    if (good && found) {
        s = &g->steps[made];
        good = spyi_fields_given(g, made, found, error);
    }
    *step = made;
    free(steps);
    return good;
}

// Makes a step of an argument. Returns false when it cannot be one, with the reason in `error`, which is
// empty when memory ran out.
static bool spyi_step_argument(spy_fusion *g, const spy_arg *arg, uint32_t *step, spyi_text *error) {
    if (arg->_map_count) {
        spyi_text_add(error, "a value in a graph has no mapping: map the arguments of the fused function");
        return false;
    }
    switch (arg->kind) {
    case SPY_ARG_KIND_BOOL:
    case SPY_ARG_KIND_INT:
    case SPY_ARG_KIND_UINT:
    case SPY_ARG_KIND_FLOAT:
        if (arg->direction == SPY_DIRECTION_DEFAULT) return spyi_step_constant(g, arg, step);
        break;
    case SPY_ARG_KIND_ARRAY: return spyi_step_array(g, arg, step, error);
    case SPY_ARG_KIND_STRUCT: {
        spy_args fields;
        fields.items = arg->value.fields;
        fields.count = arg->count;
        return spyi_step_fields(g, arg->type, fields, step, error);
    }
    case SPY_ARG_KIND_CUSTOM:
        if (arg->_custom != spyi_node_kind_of()) break;
        *step = spyi_step_of(g, (uint64_t)arg->dims[0], (uint64_t)arg->dims[1], error);
        if (*step && g->steps[*step].type && g->steps[*step].type->kind == SPYI_TYPE_VOID) {
            spyi_step_text(g, *step, error);
            spyi_text_add(error, " is no value: the function returns nothing");
            return false;
        }
        return *step != 0;
    default: break;
    }
    spyi_text_add(error, arg->kind == SPY_ARG_KIND_TENSOR
                             ? "expected a value of the graph, a number, a vector or a struct of them, got a "
                               "tensor: make it an "
                               "input of the fused function"
                             : "expected a value of the graph, a number, a vector or a struct of them");
    return false;
}

static bool spyi_step_list(spy_fusion *g, spy_args args, uint32_t *steps, spyi_text *error) {
    if (args.count && !args.items) {
        spyi_text_add(error, "expected a list of arguments, got NULL");
        return false;
    }
    for (size_t i = 0; i < args.count; i++) {
        spyi_text why = { NULL, 0, 0 };
        bool good = spyi_step_argument(g, &args.items[i], &steps[i], &why);
        if (!good && args.items[i].name)
            spyi_text_add(error, "argument '%s': %s", args.items[i].name, spyi_text_str(&why));
        else if (!good) spyi_text_add(error, "argument %zu: %s", i + 1, spyi_text_str(&why));
        spyi_text_free(&why);
        if (!good) return false;
    }
    return true;
}

// Enters the device for a step. Returns false when the graph cannot take one.
static bool spyi_fusion_enter(spy_fusion *g, const char *function) {
    if (spyi_enter(g, SPYI_KIND_FUSION, function) != SPY_OK) return false;
    if (!g->failed) return true;
    spyi_leave(g->object.device); // the step's error has been reported
    return false;
}

// Ends a step: finds types, reports what went wrong, leaves the device, and returns the step as a node.
static spy_node spyi_step_done(spy_fusion *g, const char *function, uint32_t step, bool good, uint32_t failed,
                               spyi_text *error) {
    spy_node node = { 0, 0 };
    spy_device *device = g->object.device;
    good = good && spyi_fusion_settle(g, error);
    if (spyi_failed_allocations() != failed) {
        spyi_text_clear(error);
        spyi_text_add(error, "out of host memory");
        spyi_fusion_fail(g, function, SPY_ERROR_OUT_OF_MEMORY, spyi_text_str(error));
    } else if (!good) {
        spyi_fusion_fail(g, function, SPY_ERROR_TYPE_MISMATCH, spyi_text_str(error));
    } else {
        node.graph = g->number;
        node.index = step;
    }
    spyi_text_free(error);
    spyi_leave(device);
    return node;
}

spy_status spy_fuse_use(spy_fusion *fusion, spy_module *module) {
    const char *function = "spy_fuse_use";
    if (!spyi_fusion_enter(fusion, function)) return SPY_ERROR_INVALID_ARGUMENT;
    spy_device *device = fusion->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (!spyi_is_on(device, module, SPYI_KIND_MODULE)) {
        status = spyi_object_problem(module, SPYI_KIND_MODULE, &error);
    } else if (!spyi_fusion_uses(fusion, module)) {
        status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(&error, "out of host memory");
    }
    if (status != SPY_OK) spyi_fusion_fail_text(fusion, function, status, &error);
    spyi_leave(device);
    return status;
}

spy_node spy_fuse_input(spy_fusion *fusion, const char *name, const char *type) {
    const char *function = "spy_fuse_input";
    spy_node none = { 0, 0 };
    if (!spyi_fusion_enter(fusion, function)) return none;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    bool good = spyi_is_identifier(name);
    if (!good) spyi_text_add(&error, "expected an identifier, got \"%s\"", name ? name : "NULL");
    for (uint32_t i = 1; i < fusion->count && good; i++)
        if (fusion->steps[i].kind == SPYI_STEP_INPUT && strcmp(fusion->steps[i].name, name) == 0) {
            spyi_text_add(&error, "input '%s' is given twice", name);
            good = false;
        }
    const spyi_type *found = good && type ? spyi_fusion_type(fusion, type) : NULL;
    if (good && type && !found) {
        spyi_text_add(&error, "input '%s': expected a type, got '%s', which no module of the graph knows%s",
                      name, type, fusion->module_count ? "" : "; spy_fuse_use() says which");
        good = false;
    }
    spyi_fused_step *s = good ? spyi_step_add(fusion, SPYI_STEP_INPUT, name, 0) : NULL;
    if (s) s->type = found;
    return spyi_step_done(fusion, function, fusion->count - 1, s != NULL, failed, &error);
}

spy_node spy_fuse_call(spy_fusion *fusion, spy_function *called, spy_args args) {
    const char *function = "spy_fuse_call";
    spy_node none = { 0, 0 };
    if (!spyi_fusion_enter(fusion, function)) return none;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations(), *steps = NULL, made = 0;
    spy_device *device = fusion->object.device;
    bool good = spyi_is_on(device, called, SPYI_KIND_FUNCTION);
    if (!good) (void)spyi_object_problem(called, SPYI_KIND_FUNCTION, &error);
    if (good && called->reduces) {
        spyi_text_add(&error,
                      "'%s' ends in a reduction, which is the end of a graph: fuse what comes before it",
                      called->name);
        good = false;
    }
    good = good && spyi_fusion_uses(fusion, called->module);
    if (good) steps = (uint32_t *)spyi_calloc(args.count + 1, sizeof *steps);
    if (good) {
        spyi_text why = { NULL, 0, 0 };
        good = steps && spyi_step_list(fusion, args, steps, &why);
        if (!good) spyi_text_add(&error, "'%s': %s", called->name, spyi_text_str(&why));
        spyi_text_free(&why);
    }
    spyi_fused_step *s = good ? spyi_step_add(fusion, SPYI_STEP_CALL, NULL, (uint32_t)args.count) : NULL;
    made = fusion->count - 1;
    if (s) s->function = called;
    for (uint32_t i = 0; s && i < args.count && good; i++) {
        s->operands[i] = steps[i];
        good =
            spyi_name_operand(s, i, args.items[i].name && args.items[i].name[0] ? args.items[i].name : NULL);
    }
    free(steps);
    return spyi_step_done(fusion, function, made, s && good, failed, &error);
}

spy_node spy_fuse_out(spy_fusion *fusion, spy_node call, const char *name) {
    const char *function = "spy_fuse_out";
    spy_node none = { 0, 0 };
    if (!spyi_fusion_enter(fusion, function)) return none;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations(), of = spyi_step_of(fusion, call.graph, call.index, &error);
    bool good = of && fusion->steps[of].kind == SPYI_STEP_CALL && name;
    if (of && !good) spyi_text_add(&error, "expected a call and a parameter's name");
    spyi_fused_step *s = good ? spyi_step_add(fusion, SPYI_STEP_OUT, name, 1) : NULL;
    if (s) s->operands[0] = of;
    return spyi_step_done(fusion, function, fusion->count - 1, s != NULL, failed, &error);
}

const char *spy_fuse_out_name(spy_fusion *fusion, spy_node call, uint32_t index) {
    if (spyi_enter(fusion, SPYI_KIND_FUSION, "spy_fuse_out_name") != SPY_OK) return NULL;
    const char *name = NULL;
    bool mine = call.graph == fusion->number && call.index && call.index < fusion->count;
    const spyi_fused_step *s = mine ? &fusion->steps[call.index] : NULL;
    for (uint32_t p = 0; s && p < s->param_count && !name; p++)
        if (s->params[p].out && index-- == 0) name = s->params[p].name;
    spyi_leave(fusion);
    return name;
}

// Makes a step of an operator or a type from a list of arguments.
static spy_node spyi_step_of_list(spy_fusion *g, const char *function, spyi_step_kind kind,
                                  spyi_operator_form form, const char *name, spy_args args, bool good,
                                  uint32_t failed, spyi_text *error) {
    uint32_t *steps = good ? (uint32_t *)spyi_calloc(args.count + 1, sizeof *steps) : NULL;
    good = steps && spyi_step_list(g, args, steps, error);
    spyi_fused_step *s = good ? spyi_step_add(g, kind, name, (uint32_t)args.count) : NULL;
    if (s) s->form = (uint8_t)form;
    for (uint32_t i = 0; s && i < args.count; i++) s->operands[i] = steps[i];
    free(steps);
    return spyi_step_done(g, function, g->count - 1, s != NULL, failed, error);
}

spy_node spy_fuse_make(spy_fusion *fusion, const char *type, spy_args args) {
    const char *function = "spy_fuse_make";
    spy_node none = { 0, 0 };
    if (!spyi_fusion_enter(fusion, function)) return none;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations(), named = 0, made = 0;
    for (size_t i = 0; args.items && i < args.count; i++) named += args.items[i].name != NULL;
    if (!type || !type[0]) spyi_text_add(&error, "expected a type's name, got %s", type ? "\"\"" : "NULL");
    if (type && type[0] && named && named == args.count) {
        bool good = spyi_step_fields(fusion, type, args, &made, &error);
        return spyi_step_done(fusion, function, made, good, failed, &error);
    }
    return spyi_step_of_list(fusion, function, SPYI_STEP_MAKE, SPYI_FORM_ARITHMETIC, type, args,
                             type && type[0], failed, &error);
}

spy_node spy_fuse_op(spy_fusion *fusion, const char *op, spy_args args) {
    const char *function = "spy_fuse_op";
    spy_node none = { 0, 0 };
    if (!spyi_fusion_enter(fusion, function)) return none;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spyi_operator_form form = SPYI_FORM_BUILT_IN;
    bool good = op && spyi_operator_find(op, (uint32_t)args.count, &form);
    if (!good)
        spyi_text_add(&error, "expected an operator or a function of Slang's, got '%s' with %zu arguments",
                      op ? op : "NULL", args.count);
    return spyi_step_of_list(fusion, function, SPYI_STEP_OPERATOR, form, op, args, good, failed, &error);
}

spy_node spy_fuse_member(spy_fusion *fusion, spy_node value, const char *name) {
    const char *function = "spy_fuse_member";
    spy_node none = { 0, 0 };
    if (!spyi_fusion_enter(fusion, function)) return none;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations(), of = spyi_step_of(fusion, value.graph, value.index, &error);
    bool good = of && spyi_is_identifier(name);
    if (of && !good) spyi_text_add(&error, "expected a member's name, got \"%s\"", name ? name : "NULL");
    spyi_fused_step *s = good ? spyi_step_add(fusion, SPYI_STEP_MEMBER, name, 1) : NULL;
    if (s) s->operands[0] = of;
    return spyi_step_done(fusion, function, fusion->count - 1, s != NULL, failed, &error);
}

const char *spy_fuse_type(spy_fusion *fusion, spy_node value) {
    if (spyi_enter(fusion, SPYI_KIND_FUSION, "spy_fuse_type") != SPY_OK) return NULL;
    bool mine = value.graph == fusion->number && value.index && value.index < fusion->count;
    const spyi_type *type = mine ? fusion->steps[value.index].type : NULL;
    spyi_leave(fusion);
    return type ? spyi_spell(type) : NULL;
}

// >>outputs

static spy_status spyi_fusion_output(spy_fusion *g, const char *function, const char *name, spy_arg value,
                                     spy_fuse_reduction reduction, spy_dims dims) {
    if (!spyi_fusion_enter(g, function)) return SPY_ERROR_INVALID_ARGUMENT;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations(), step = 0;
    bool good = spyi_is_identifier(name);
    if (!good)
        spyi_text_add(&error, "expected \"_result\" or an identifier, got \"%s\"", name ? name : "NULL");
    else if (g->reduction || (reduction && g->output_count)) {
        spyi_text_add(&error, "a graph that ends in a reduction has one output");
        good = false;
    }
    for (uint32_t i = 1; i < g->count && good; i++)
        if (g->steps[i].kind == SPYI_STEP_INPUT && strcmp(g->steps[i].name, name) == 0) {
            spyi_text_add(&error, "output '%s' has the name of an input", name);
            good = false;
        }
    for (uint32_t i = 0; i < g->output_count && good; i++)
        if (strcmp(g->outputs[i].name, name) == 0) {
            spyi_text_add(&error, "output '%s' is given twice", name);
            good = false;
        }
    if (good) good = spyi_step_argument(g, &value, &step, &error);
    spyi_fused_output *grown =
        good ? (spyi_fused_output *)spyi_realloc(g->outputs, (g->output_count + 1) * sizeof *grown) : NULL;
    char *copy = grown ? spyi_strdup(name) : NULL;
    if (grown) g->outputs = grown;
    if (copy) {
        grown[g->output_count].name = copy;
        grown[g->output_count].step = step;
        g->output_count++;
        g->reduction = reduction;
        g->dims = dims;
    }
    spy_node done = spyi_step_done(g, function, 1, copy != NULL, failed, &error);
    return done.graph ? SPY_OK : SPY_ERROR_TYPE_MISMATCH;
}

spy_status spy_fuse_output(spy_fusion *fusion, const char *name, spy_arg value) {
    spy_dims none;
    memset(&none, 0, sizeof none);
    return spyi_fusion_output(fusion, "spy_fuse_output", name, value, SPY_FUSE_REDUCTION_NONE, none);
}

spy_status spy_fuse_reduce(spy_fusion *fusion, spy_fuse_reduction reduction, spy_dims dims, spy_arg value) {
    const char *function = "spy_fuse_reduce";
    bool good = reduction > SPY_FUSE_REDUCTION_NONE && reduction <= SPY_FUSE_REDUCTION_MAX &&
                dims.count <= SPY_MAX_RANK;
    for (uint32_t i = 0; good && i < dims.count; i++)
        good = dims.dims[i] >= -SPY_MAX_RANK && dims.dims[i] < SPY_MAX_RANK;
    if (good) return spyi_fusion_output(fusion, function, "_result", value, reduction, dims);
    if (!spyi_fusion_enter(fusion, function)) return SPY_ERROR_INVALID_ARGUMENT;
    spyi_text error = { NULL, 0, 0 };
    spyi_text_add(&error, "expected a spy_fuse_reduction and dimensions from %d to %d", -SPY_MAX_RANK,
                  SPY_MAX_RANK - 1);
    spyi_fusion_fail_text(fusion, function, SPY_ERROR_INVALID_ARGUMENT, &error);
    spyi_leave(fusion);
    return SPY_ERROR_INVALID_ARGUMENT;
}
