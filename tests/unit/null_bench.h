// A null device with a module and a report of broken rules, for tests that make one each. Include it after `source`, the module's text.
#ifndef NULL_BENCH_H
#define NULL_BENCH_H

typedef struct bench {
    spy_device *device;
    spy_module *module;
    spyi_text report;
} bench;

static inline spyi_null_desc defaults(void) {
    spyi_null_desc d;
    memset(&d, 0, sizeof d);
    return d;
}

static inline void open_with(bench *t, spyi_null_desc *null_desc, const spy_device_desc *more) {
    spy_device_desc d;
    memset(t, 0, sizeof *t);
    memset(&d, 0, sizeof d);
    if (more) d = *more;
    null_desc->report = &t->report;
    d.backend = spyi_null_backend();
    d.backend_desc = null_desc;
    t->device = spy_create_device(&d);
    if (!t->device) fail_msg("%s", spy_take_error(NULL).message);
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = "unit";
    m.source = source;
    t->module = spy_load_module(t->device, &m);
    if (!t->module) fail_msg("%s", spy_take_error(t->device).message);
}

static inline void open_plain(bench *t) {
    spyi_null_desc d = defaults();
    open_with(t, &d, NULL);
}

// No rule of backend.h was broken, nothing leaked.
static inline void close_bench(bench *t) {
    spy_release_device(t->device);
    if (t->report.size) print_error("%s", spyi_text_str(&t->report));
    assert_int_equal(t->report.size, 0);
    spyi_text_free(&t->report);
}

static inline spy_function *fn(bench *t, const char *name) {
    spy_function *f = spy_find_function(t->module, name);
    assert_non_null(f);
    return f;
}

static inline void good(bench *t, spy_status s) {
    if (s != SPY_OK) fail_msg("%s", spy_take_error(t->device).message);
}

#endif // NULL_BENCH_H
