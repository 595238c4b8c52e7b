// The library itself: the public headers with their implementation, and nothing else.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_cuda.h"
#include "slangpy_vk.h"
