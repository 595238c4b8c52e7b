// The program's own volk. After the library in the same file when OWN_AFTER is defined; volk then asks, as it always does
// when vulkan.h comes first, for VK_NO_PROTOTYPES.
#ifdef OWN_AFTER
#define VK_NO_PROTOTYPES
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
#endif
#define VOLK_IMPLEMENTATION
#include <volk.h>

#ifdef __cplusplus
extern "C"
#endif
int own_volk_version(void);

int own_volk_version(void) {
    if (volkInitialize() != VK_SUCCESS) return 0;
    return (int)volkGetInstanceVersion();
}
