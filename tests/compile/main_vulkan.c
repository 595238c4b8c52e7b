// A program that links libvulkan and calls it by its own names, with the library in another file: its vk... functions
// must be libvulkan's, not pointers of a volk inside the library.
#include <vulkan/vulkan.h>
#include "slangpy_vk.h"
#include <stdio.h>

int main(void) {
    uint32_t version = 0;
    VkInstance instance = VK_NULL_HANDLE;
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, NULL, 0, NULL, 0, NULL };
    if (spy_vk_backend() == NULL) return 1;
    if (vkEnumerateInstanceVersion(&version) != VK_SUCCESS || version == 0) return 2;
    if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) return 3;
    vkDestroyInstance(instance, NULL);
    printf("Vulkan %u.%u\n", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
    return 0;
}
