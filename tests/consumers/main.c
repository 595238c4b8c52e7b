// What a consumer's first program looks like; the library is in library.c.
#include "slangpy_vk.h"
#include <stdio.h>

int main(void) {
    spy_error error = spy_take_error(NULL);
    if (error.code != SPY_OK || spy_vk_backend() == NULL) return 1;
    printf("slangpy %d: %s\n", SPY_VERSION, spy_status_text(error.code));
    return 0;
}
