// The program's own stb_ds. After the library in the same file when OWN_AFTER is defined.
#ifdef OWN_AFTER
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
#endif
#define STB_DS_IMPLEMENTATION
#include <stb_ds.h>

#ifdef __cplusplus
extern "C"
#endif
int own_stb_sum(void);

int own_stb_sum(void) {
    int *array = NULL;
    struct { int key; int value; } *map = NULL;
    int key = 7, sum; // a key is an lvalue: stb_ds in C++ takes its address
    arrput(array, 1);
    arrput(array, 2);
    hmput(map, key, 3);
    sum = array[0] + array[1] + hmget(map, key);
    arrfree(array);
    hmfree(map);
    return sum;
}
