// The one file of the split build that holds stb_ds's functions; in the single header stbds.h holds them itself.
#define SPYI_STBDS_IMPLEMENTATION 1
#include "base/stbds.h"
