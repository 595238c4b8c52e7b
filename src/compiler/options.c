// Turns a unit's compile options into Slang's options, and rejects options that the target or the library
// lacks.
#include "compiler/target.h"

spyi_sl_option spyi_sl_int_option(int32_t name, int32_t value) {
    spyi_sl_option o;
    memset(&o, 0, sizeof o);
    o.name = name;
    o.value.kind = SPYI_SL_OPTION_KIND_INT;
    o.value.int0 = value;
    return o;
}

uint32_t spyi_sl_options(const spyi_unit *unit, spyi_sl_option out[SPYI_SL_MOST_OPTIONS]) {
    const spy_compile_options *o = &unit->options;
    uint32_t n = 0;
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_USE_ENTRY_POINT_NAME, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_SCALAR_LAYOUT, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_MACHINE_READABLE_DIAGNOSTICS, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_DIAGNOSTIC_COLOR, SPYI_SL_COLOR_NEVER);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_SKIP_SPIRV_VALIDATION, 1);
    unit->compiler->target->add_options(o, out, &n);
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

spyi_sl_option spyi_sl_no_optimization(void) {
    return spyi_sl_int_option(SPYI_SL_OPTION_OPTIMIZATION, SPYI_SL_OPTIMIZATION_NONE);
}

const spy_compile_options *spyi_unit_options(const spyi_unit *unit) {
    return &unit->options;
}

spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error) {
    const spy_compile_options *o = &unit->options;
    if ((unsigned)o->optimization > SPY_OPTIMIZATION_HIGHEST ||
        (unsigned)o->debug_info > SPY_DEBUG_INFO_FULL || (unsigned)o->float_mode > SPY_FLOAT_MODE_FAST) {
        spyi_text_add(error,
                      "options have optimization %d, debug_info %d, float_mode %d; one is not of its enum",
                      (int)o->optimization, (int)o->debug_info, (int)o->float_mode);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return unit->compiler->target->check_options(unit, notes, error);
}
