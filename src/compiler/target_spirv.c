// SPIR-V's table of functions (spyi_code_target), and the effect of compile options on SPIR-V.
#include "compiler/target.h"

// >>options

// Returns whether spirv-opt is available, which is in the library slang-glslang. Call it inside a task.
static bool spyi_sl_can_optimize(void) {
    spyi_sl_global *global = spyi_sl_global_session();
    return global->v->checkPassThroughSupport(global, SPYI_SL_PASS_THROUGH_SPIRV_OPT) >= 0;
}

// Returns Slang's optimisation level. Slang's level 0 leaves out spirv-opt, and the driver's own compiler
// makes up for it. The slangtorch wheel lacks spirv-opt's library (slang-glslang); at level 0 both wheels
// give the same code. Slang's own passes run at every level.
static int32_t spyi_sl_optimization(spy_optimization o) {
    switch (o) {
    case SPY_OPTIMIZATION_LOW: return SPYI_SL_OPTIMIZATION_DEFAULT;
    case SPY_OPTIMIZATION_HIGH: return SPYI_SL_OPTIMIZATION_HIGH;
    case SPY_OPTIMIZATION_HIGHEST: return SPYI_SL_OPTIMIZATION_MAXIMAL;
    default: return SPYI_SL_OPTIMIZATION_NONE;
    }
}

static void spyi_spirv_add_options(const spy_compile_options *options, spyi_sl_option *out, uint32_t *count) {
    bool missing = options->optimization > SPY_OPTIMIZATION_NONE && !spyi_sl_can_optimize();
    out[(*count)++] =
        spyi_sl_int_option(SPYI_SL_OPTION_OPTIMIZATION,
                           missing ? SPYI_SL_OPTIMIZATION_NONE : spyi_sl_optimization(options->optimization));
}

static bool spyi_spirv_optimizes(const spyi_unit *unit) {
    return unit->options.optimization > SPY_OPTIMIZATION_NONE && spyi_sl_can_optimize();
}

// Returns whether this version supports SPY_FLOAT_MODE_PRECISE: 2026.12 ignores it, 2026.14.1 decorates each
// operation with NoContraction.
static bool spyi_sl_knows_precise(const char *version) {
    char *end = NULL;
    unsigned long year = strtoul(version, &end, 10);
    unsigned long release = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return year > 2026 || (year == 2026 && release >= 14);
}

static spy_status spyi_spirv_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error) {
    const spy_compile_options *o = &unit->options;
    const spyi_sl_library *lib = unit->compiler->library;
    if (o->optimization > SPY_OPTIMIZATION_NONE) {
        bool possible = spyi_sl_can_optimize();
        if (!possible && spyi_atomic_swap_if(&unit->compiler->told_optimization, 0, 1))
            spyi_text_add(notes,
                          "optimization needs the library slang-glslang of Slang %s beside %s; without it no "
                          "module's code is optimised before the driver does\n",
                          lib->version, lib->path);
    }
    if (o->float_mode == SPY_FLOAT_MODE_PRECISE && !spyi_sl_knows_precise(lib->version)) {
        spyi_text_add(error,
                      "options.float_mode: Slang %s makes the same SPIR-V for PRECISE as without it; 2026.14 "
                      "and later honour it",
                      lib->version);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (o->float_mode == SPY_FLOAT_MODE_FAST)
        spyi_text_add(notes, "options.float_mode: FAST has no effect on SPIR-V\n");
    return SPY_OK;
}

// >>code

static bool spyi_spirv_prepare(spyi_unit *unit, spyi_sl_live *live, spyi_sl_component *linked,
                               spyi_text *messages) {
    (void)unit, (void)live, (void)linked, (void)messages;
    return true;
}

static bool spyi_spirv_has_derivative(const void *code, size_t size) {
    return spyi_code_is_derivative((const uint32_t *)code, size / sizeof(uint32_t));
}

// The other steps read the structs' names, so these are removed last.
static void spyi_spirv_mend(const spyi_compiler *compiler, spyi_code *code, spyi_code_faults *faults) {
    (void)compiler;
    uint32_t *words = (uint32_t *)code->data;
    size_t count = code->size / sizeof *words;
    spyi_code_patch_source(words, count);
    faults->saved = !spyi_code_order_saved(&words, &count, SPYI_CODE_ROOM);
    faults->additions = !spyi_code_add_elements(&words, &count, SPYI_CODE_ROOM);
    spyi_code_sparse_sums(words, &count);
    count = spyi_code_drop_struct_names(words, count);
    code->data = words;
    code->size = count * sizeof *words;
}

// The names of GLSL.std.450's functions 11 to 30, which take half and float only. Source: the specification
// of the extended instruction set GLSL.std.450. Slang writes them for doubles, too; lavapipe then gives 0
// without a word.
static const char *const spyi_spirv_no_double[] = { "radians", "degrees", "sin",   "cos",   "tan",
                                                    "asin",    "acos",    "atan",  "sinh",  "cosh",
                                                    "tanh",    "asinh",   "acosh", "atanh", "atan2",
                                                    "pow",     "exp",     "log",   "exp2",  "log2" };
enum { SPYI_SPIRV_FIRST_NO_DOUBLE = 11, SPYI_SPIRV_DOUBLE_TYPES = 8 };

// Returns false, and says why, when the code calls one of these functions for doubles.
static bool spyi_spirv_check_doubles(const uint32_t *words, size_t count, spyi_text *messages) {
    enum { EXT_INST = 12, TYPE_FLOAT = 22, TYPE_VECTOR = 23 };
    const size_t most = sizeof spyi_spirv_no_double / sizeof spyi_spirv_no_double[0];
    uint32_t types[SPYI_SPIRV_DOUBLE_TYPES], type_count = 0; // `types` lists double and its vectors
    for (size_t at = 5; at < count;) {
        const uint32_t *op = words + at;
        uint32_t length = op[0] >> 16, number = op[0] & 0xffff, wanted = 0;
        if (!length || length > count - at) break;
        if (number == TYPE_FLOAT && length >= 3 && op[2] == 64 && type_count < SPYI_SPIRV_DOUBLE_TYPES)
            types[type_count++] = op[1];
        if (number == TYPE_VECTOR && length == 4) wanted = op[2];
        if (number == EXT_INST && length > 4) wanted = op[1];
        bool is_double = false;
        for (uint32_t i = 0; wanted && i < type_count; i++) is_double = is_double || types[i] == wanted;
        if (is_double && number == TYPE_VECTOR && type_count < SPYI_SPIRV_DOUBLE_TYPES)
            types[type_count++] = op[1];
        if (is_double && number == EXT_INST && op[4] - SPYI_SPIRV_FIRST_NO_DOUBLE < most) {
            spyi_text_add(
                messages,
                "it calls %s() of doubles, which Vulkan has for half and float only: write %s(float(x)), or "
                "a function of your own",
                spyi_spirv_no_double[op[4] - SPYI_SPIRV_FIRST_NO_DOUBLE],
                spyi_spirv_no_double[op[4] - SPYI_SPIRV_FIRST_NO_DOUBLE]);
            return false;
        }
        at += length;
    }
    return true;
}

static bool spyi_spirv_place(spyi_code *code, const spyi_sl_binding *bindings, spyi_text *messages) {
    size_t count = code->size / sizeof(uint32_t);
    if (!spyi_spirv_check_doubles((const uint32_t *)code->data, count, messages)) return false;
    bool good = spyi_code_remap((uint32_t *)code->data, &count, &code->inputs, bindings, messages);
    code->size = count * sizeof(uint32_t);
    return good;
}

// >>layout: for SPIR-V reflection's sizes and offsets are right

static size_t spyi_spirv_size(spyi_unit *unit, spyi_sl_type_layout *layout) {
    return SPYI_SL_FUNCTION(unit, spReflectionTypeLayout_GetSize)(layout, SPYI_SL_CATEGORY_UNIFORM);
}

static bool spyi_spirv_is_moved(spyi_unit *unit, spyi_sl_type_layout *layout) {
    (void)unit, (void)layout;
    return false;
}

static size_t spyi_spirv_param(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_params *params) {
    (void)params;
    return SPYI_SL_FUNCTION(unit, spReflectionVariableLayout_GetOffset)(param, SPYI_SL_CATEGORY_UNIFORM);
}

SPYI_FN const spyi_code_target *spyi_code_spirv(void) {
    static const spyi_code_target table = { SPYI_SL_TARGET_SPIRV,
                                            "spirv_1_5",
                                            spyi_spirv_add_options,
                                            spyi_spirv_check_options,
                                            spyi_spirv_optimizes,
                                            spyi_spirv_has_derivative,
                                            spyi_spirv_prepare,
                                            spyi_spirv_mend,
                                            spyi_spirv_place,
                                            spyi_spirv_size,
                                            spyi_spirv_is_moved,
                                            NULL, // field: not called, as is_moved is always false
                                            spyi_spirv_param };
    return &table;
}
