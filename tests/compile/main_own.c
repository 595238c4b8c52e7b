// A program with a stb_ds (own_stb.c) and a volk (own_volk.c) of its own, each in a file of its own.
#include "slangpy_vk.h"

int own_stb_sum(void);
int own_volk_version(void);

int main(void) {
    if (spy_vk_backend() == NULL) return 1;
    if (own_stb_sum() != 6) return 2;
    if (own_volk_version() == 0) return 3;
    return 0;
}
