// The one file of the split build that holds volk's functions; in the single header volk_private.h holds them itself.
#define SPYI_VOLK_IMPLEMENTATION 1
#include "vk/volk_private.h"
