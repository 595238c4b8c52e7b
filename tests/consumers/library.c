#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
