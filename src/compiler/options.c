// Compile options of a unit: what is asked of every session that has it, and what cannot be had.
#include "compiler/internal.h"

static spyi_sl_option spyi_sl_int_option(int32_t name, int32_t value) {
    spyi_sl_option o;
    memset(&o, 0, sizeof o);
    o.name = name;
    o.value.kind = SPYI_SL_OPTION_KIND_INT;
    o.value.int0 = value;
    return o;
}

// Whether spirv-opt, which is in the library slang-glslang, is at hand. Within a task.
static bool spyi_sl_can_optimize(void) {
    spyi_sl_global *global = spyi_sl_global_session();
    return global->v->checkPassThroughSupport(global, SPYI_SL_PASS_THROUGH_SPIRV_OPT) >= 0;
}

// Level 0 leaves out spirv-opt, which the driver's own compiler makes up for: the slangtorch wheel lacks its library
// (slang-glslang), and both wheels then give the same code. Slang's own passes run all the same.
static int32_t spyi_sl_optimization(spy_optimization o) {
    switch (o) {
    case SPY_OPTIMIZATION_LOW: return SPYI_SL_OPTIMIZATION_DEFAULT;
    case SPY_OPTIMIZATION_HIGH: return SPYI_SL_OPTIMIZATION_HIGH;
    case SPY_OPTIMIZATION_HIGHEST: return SPYI_SL_OPTIMIZATION_MAXIMAL;
    default: return SPYI_SL_OPTIMIZATION_NONE;
    }
}

uint32_t spyi_sl_options(const spyi_unit *unit, spyi_sl_option out[SPYI_SL_MOST_OPTIONS]) {
    const spy_compile_options *o = &unit->options;
    uint32_t n = 0;
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_USE_ENTRY_POINT_NAME, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_SCALAR_LAYOUT, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_MACHINE_READABLE_DIAGNOSTICS, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_DIAGNOSTIC_COLOR, SPYI_SL_COLOR_NEVER);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_SKIP_SPIRV_VALIDATION, 1);
    if (unit->compiler->target == SPYI_TARGET_SPIRV)
        out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_OPTIMIZATION,
                                      o->optimization > SPY_OPTIMIZATION_NONE && !spyi_sl_can_optimize()
                                          ? SPYI_SL_OPTIMIZATION_NONE
                                          : spyi_sl_optimization(o->optimization));
    if (o->debug_info == SPY_DEBUG_INFO_LINES || o->debug_info == SPY_DEBUG_INFO_FULL)
        out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_DEBUG_INFO, o->debug_info == SPY_DEBUG_INFO_FULL
                                                                     ? SPYI_SL_DEBUG_STANDARD
                                                                     : SPYI_SL_DEBUG_MINIMAL);
    if (o->float_mode != SPY_FLOAT_MODE_DEFAULT)
        out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_FLOAT_MODE, o->float_mode == SPY_FLOAT_MODE_FAST
                                                                     ? SPYI_SL_FLOAT_FAST
                                                                     : SPYI_SL_FLOAT_PRECISE);
    if (o->experimental_features) out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_EXPERIMENTAL, 1);
    SPYI_ASSERT(n <= SPYI_SL_MOST_OPTIONS);
    return n;
}

bool spyi_sl_optimizes(const spyi_unit *unit) {
    return unit->compiler->target == SPYI_TARGET_SPIRV && unit->options.optimization > SPY_OPTIMIZATION_NONE &&
           spyi_sl_can_optimize();
}

spyi_sl_option spyi_sl_no_optimization(void) {
    return spyi_sl_int_option(SPYI_SL_OPTION_OPTIMIZATION, SPYI_SL_OPTIMIZATION_NONE);
}

// 2026.12 gives the same code for precise as without it, 2026.14.1 decorates each operation with NoContraction.
static bool spyi_sl_knows_precise(const char *version) {
    char *end = NULL;
    unsigned long year = strtoul(version, &end, 10);
    unsigned long release = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return year > 2026 || (year == 2026 && release >= 14);
}

const spy_compile_options *spyi_unit_options(const spyi_unit *unit) {
    return &unit->options;
}

spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error) {
    const spy_compile_options *o = &unit->options;
    const spyi_sl_library *lib = unit->compiler->library;
    if ((unsigned)o->optimization > SPY_OPTIMIZATION_HIGHEST ||
        (unsigned)o->debug_info > SPY_DEBUG_INFO_FULL || (unsigned)o->float_mode > SPY_FLOAT_MODE_FAST) {
        spyi_text_add(error,
                      "options have optimization %d, debug_info %d, float_mode %d; one is not of its enum",
                      (int)o->optimization, (int)o->debug_info, (int)o->float_mode);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    bool optimize = o->optimization > SPY_OPTIMIZATION_NONE;
    if (unit->compiler->target != SPYI_TARGET_SPIRV) {
        if (optimize)
            spyi_text_add(notes, "options.optimization has no effect on CUDA: NVRTC optimises fully\n");
        return SPY_OK;
    }
    if (optimize) {
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
