// stb_ds (arrays and maps) as a private copy: its names become spyi_stbds_..., so that a program with a stb_ds of its own,
// in this file after us or in another, never meets ours. Used by the cold tables of compiler, bind and emit only: a
// backend's implementation begins after slangpy.h's has taken these names back (stbds_end.h).
#ifndef SPYI_BASE_STBDS_H
#define SPYI_BASE_STBDS_H

#include "base/stbds_names.h"
#include <stddef.h>

#ifdef INCLUDE_STB_DS_H
#error                                                                                                       \
    "stb_ds.h was included before the implementation of slangpy.h: include slangpy.h first, or give it a file of its own"
#endif

#define STBDS_NO_SHORT_NAMES
#if defined(SPYI_SINGLE_HEADER) || defined(SPYI_STBDS_IMPLEMENTATION) // the split build: src/base/stbds.c
#define STB_DS_IMPLEMENTATION
#endif

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

#ifdef __has_include
#if !__has_include(<stb_ds.h>) && __has_include(<stb/stb_ds.h>)
#define SPYI_STB_FOLDER 1
#elif !__has_include(<stb_ds.h>)
#error                                                                                                       \
    "slangpy.h needs stb_ds.h on the include path (Debian: apt install libstb-dev, then -I/usr/include/stb)"
#endif
#endif
// The hash of stb_ds.h shifts a byte into the sign bit of an int, at which UBSan stops the program. An attribute of an earlier
// declaration also holds for the definition.
#if defined(STB_DS_IMPLEMENTATION) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 8))
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((no_sanitize("shift"))) size_t
    stbds_hash_bytes(void *p, size_t len, size_t seed);
__attribute__((no_sanitize("shift"))) static size_t stbds_siphash_bytes(void *p, size_t len, size_t seed);
#endif
#ifdef SPYI_STB_FOLDER
#include <stb/stb_ds.h>
#else
#include <stb_ds.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Keys are lvalues, as C++ needs: stb_ds's own macro for C says `typeof`, which gcc -std=c11 does not know.
#undef STBDS_ADDRESSOF
#define STBDS_ADDRESSOF(typevar, value) &(value)
// stb_ds's own is a signed difference, which -Wconversion refuses at each use.
#undef STBDS_OFFSETOF
#define STBDS_OFFSETOF(var, field) ((size_t)((char *)&(var)->field - (char *)(var)))

#endif
