// The one file of a program that holds the library, as a user would write it.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
