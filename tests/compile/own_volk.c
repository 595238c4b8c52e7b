// The program's own volk. With OWN_AFTER or OWN_BEFORE the library's implementation is in the same file. When it comes first,
// volk asks for VK_NO_PROTOTYPES, as it does after any vulkan.h.
#ifdef OWN_AFTER
#define VK_NO_PROTOTYPES
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
#endif
#define VOLK_IMPLEMENTATION
#include <volk.h>
#ifdef OWN_BEFORE
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
#endif

#ifdef __cplusplus
extern "C"
#endif
int own_volk_version(void);

int own_volk_version(void) {
    if (volkInitialize() != VK_SUCCESS) return 0;
    return (int)volkGetInstanceVersion();
}
