// Group setup and teardown that hold libslang for a whole program. The last device that goes closes the process's one global
// session, and a new one costs 0.3 s of CPU: a program whose tests make a device each would pay that for each of them.
#ifndef HOLD_SLANG_H
#define HOLD_SLANG_H

#include "spy_test.h"

#ifdef SPY_TEST_SPLIT
#include "compiler/internal.h"
#endif

static int hold_slang(void **state) {
    (void)state;
    const spyi_sl_library *library;
    spyi_text error = { NULL, 0, 0 };
    if (spyi_sl_acquire(NULL, NULL, 0, &library, &error) != SPY_OK)
        print_message("%s\n", spyi_text_str(&error)); // tests skip or fail
    spyi_text_free(&error);
    return 0;
}

static int let_slang_go(void **state) {
    (void)state;
    spyi_sl_release();
    return 0;
}

#endif
