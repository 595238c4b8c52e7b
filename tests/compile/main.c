// A program of several files: this one has declarations only. Also compiled as C++11.
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
#include <stdio.h>

int main(void) {
    const char *text = spy_status_text(SPY_OK);
    if (text == NULL || spy_vk_backend() == NULL) return 1;
    printf("%s\n", text);
    return 0;
}
