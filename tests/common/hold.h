// gpu_hold_slang() of gpu_test.h, for the one file of a program that sees the library's inside: it has the implementation, or
// compiler/internal.h, before this.
#ifndef HOLD_H
#define HOLD_H

#include <stdio.h>

// Keeps libslang's global session while no device has it, or lets it go.
void gpu_hold_slang(bool hold);
void gpu_hold_slang(bool hold) {
    const spyi_sl_library *library;
    spyi_text error = { NULL, 0, 0 };
    if (!hold) spyi_sl_release();
    else if (spyi_sl_acquire(NULL, NULL, 0, &library, &error) != SPY_OK) printf("%s\n", spyi_text_str(&error)); // tests skip or fail
    spyi_text_free(&error);
}

#endif
