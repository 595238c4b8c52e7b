// The Vulkan headers as the program wants them: they come in before volk's names are changed, so its prototypes (or their
// absence, by VK_NO_PROTOTYPES) are still right for the program's own code after us in the same file.
#ifndef SPYI_VK_VULKAN_HEADERS_H
#define SPYI_VK_VULKAN_HEADERS_H

#if defined(VULKAN_H_) || defined(VULKAN_CORE_H_) || defined(VOLK_H_)
#error "vulkan.h or volk.h was included before the implementation of slangpy_vk.h: include slangpy_vk.h first, or give it a file of its own"
#endif

#include <vulkan/vulkan.h>

#endif
