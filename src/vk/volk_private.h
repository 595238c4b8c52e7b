// volk as a private copy: its 600 global function pointers become spyi_vk..., since plain ones in a program that also
// links libvulkan replace that library's functions and crash it. Functions of a device go through the table
// that volkLoadDeviceTable fills (struct VolkDeviceTable, here renamed too), never through the globals.
#ifndef SPYI_VK_VOLK_PRIVATE_H
#define SPYI_VK_VOLK_PRIVATE_H

#include "vk/vulkan_headers.h"
#include "vk/volk_names.h"

#pragma push_macro("VK_NO_PROTOTYPES")
#pragma push_macro("VOLK_IMPLEMENTATION")
#undef VK_NO_PROTOTYPES
#undef VOLK_IMPLEMENTATION
#define VK_NO_PROTOTYPES // volk.h insists; the prototypes already seen have other names than volk's pointers
#if defined(SPYI_SINGLE_HEADER) || defined(SPYI_VOLK_IMPLEMENTATION) // the split build: src/vk/volk_private.c
#define VOLK_IMPLEMENTATION
#endif

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#ifdef _WIN32
#define FARPROC spyi_FARPROC // volk.c's own differs from mingw's windows.h; ours includes that earlier
#endif
#include <volk.h>
#ifdef _WIN32
#undef FARPROC
#endif
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic pop
#endif

#pragma pop_macro("VOLK_IMPLEMENTATION")
#pragma pop_macro("VK_NO_PROTOTYPES")

#endif
