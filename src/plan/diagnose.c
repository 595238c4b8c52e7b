// Rewrites compiler errors about a generated kernel whose cause is the user's own code: the new text says
// what to write there, without the kernel's text, which would distract from it.
#include "plan/plan.h"

// Gives the first text between two quotes behind `from`, without Slang's mangling: "_SW4Impl1t1I" becomes
// Impl.
static void spyi_quoted(const char *from, spyi_text *out) {
    const char *begin = strchr(from, '\''), *end = begin ? strchr(begin + 1, '\'') : NULL;
    const char *name = end ? begin + 1 : "", *digits;
    size_t length = end ? (size_t)(end - name) : 0;
    if (length > 2 && strncmp(name, "_S", 2) == 0) {
        for (digits = name + 2; *digits < '0' || *digits > '9'; digits++)
            if (digits == end) break;
        char *rest = NULL;
        unsigned long n = strtoul(digits, &rest, 10);
        if (rest && rest < end && n <= (unsigned long)(end - rest)) name = rest, length = (size_t)n;
    }
    spyi_text_add_n(out, name, length);
}

// Returns the lines of the compiler's text after the first one, which names the kernel.
static const char *spyi_diagnostics(const char *text) {
    const char *line = strchr(text, '\n');
    return line ? line + 1 : text;
}

SPYI_FN bool spyi_diagnose(const spy_function *function, spyi_text *error, spy_status *status) {
    static const struct {
        const char *code, *problem;
    } known[] = {
        { "(E45001)",
          "is declared extern, and nothing gives it: give a constant in options.constants, or a type in "
          "options.prelude (export struct X : I = Y;), or load the module with one in desc.link that exports "
          "it" },
        { "(E30600)",
          "is not public: where a module says `public` or `module` anywhere, only its public declarations "
          "can be used from outside: write `public` before it" },
    };
    const char *text = spyi_text_str(error), *diagnostics = spyi_diagnostics(text);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *code = strstr(diagnostics, known[i].code), *line = code;
        if (!code) continue;
        while (line > diagnostics && line[-1] != '\n') line--;
        spyi_text all = { NULL, 0, 0 };
        const char *message = strstr(line, "error: ");
        spyi_text_add(&all, "'");
        spyi_quoted(message && message < code ? message : line, &all);
        spyi_text_add(&all, "' of module '%s' %s; Slang says:\n%s", function->module->name, known[i].problem,
                      diagnostics);
        spyi_text_free(error);
        *error = all;
        *status = SPY_ERROR_INVALID_ARGUMENT;
        return true;
    }
    return false;
}
