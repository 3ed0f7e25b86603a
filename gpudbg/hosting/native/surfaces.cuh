/* Surface functions of CUDA C++ for clang, which has none before version 21: unformatted accesses
   of PTX, by the size of what is read or written. */
#pragma once
#include <surface_types.h>

#define GPUDBG_AT [o] "l"(object), [x] "r"(x), [y] "r"(y), [z] "r"(z)

/* One access; `place` names the coordinates as the geometry has them. */
#define GPUDBG_READ(kind, place, word)                                                             \
    if (sizeof(T) == 1)                                                                            \
        asm volatile("suld.b." kind ".b8." word " {%[h]}, [%[o], " place "];"                      \
                     : [h] "=h"(half) : GPUDBG_AT);                                                \
    else if (sizeof(T) == 2)                                                                       \
        asm volatile("suld.b." kind ".b16." word " {%[h]}, [%[o], " place "];"                     \
                     : [h] "=h"(half) : GPUDBG_AT);                                                \
    else if (sizeof(T) == 4)                                                                       \
        asm volatile("suld.b." kind ".b32." word " {%[a]}, [%[o], " place "];"                     \
                     : [a] "=r"(w[0]) : GPUDBG_AT);                                                \
    else if (sizeof(T) == 8)                                                                       \
        asm volatile("suld.b." kind ".v2.b32." word " {%[a],%[b]}, [%[o], " place "];"             \
                     : [a] "=r"(w[0]), [b] "=r"(w[1]) : GPUDBG_AT);                                \
    else                                                                                           \
        asm volatile("suld.b." kind ".v4.b32." word " {%[a],%[b],%[c],%[d]}, [%[o], " place "];"   \
                     : [a] "=r"(w[0]), [b] "=r"(w[1]), [c] "=r"(w[2]), [d] "=r"(w[3])              \
                     : GPUDBG_AT)

#define GPUDBG_WRITE(kind, place, word)                                                            \
    if (sizeof(T) == 1)                                                                            \
        asm volatile("sust.b." kind ".b8." word " [%[o], " place "], {%[h]};"                      \
                     : : [h] "h"(half), GPUDBG_AT);                                                \
    else if (sizeof(T) == 2)                                                                       \
        asm volatile("sust.b." kind ".b16." word " [%[o], " place "], {%[h]};"                     \
                     : : [h] "h"(half), GPUDBG_AT);                                                \
    else if (sizeof(T) == 4)                                                                       \
        asm volatile("sust.b." kind ".b32." word " [%[o], " place "], {%[a]};"                     \
                     : : [a] "r"(w[0]), GPUDBG_AT);                                                \
    else if (sizeof(T) == 8)                                                                       \
        asm volatile("sust.b." kind ".v2.b32." word " [%[o], " place "], {%[a],%[b]};"             \
                     : : [a] "r"(w[0]), [b] "r"(w[1]), GPUDBG_AT);                                 \
    else                                                                                           \
        asm volatile("sust.b." kind ".v4.b32." word " [%[o], " place "], {%[a],%[b],%[c],%[d]};"   \
                     : : [a] "r"(w[0]), [b] "r"(w[1]), [c] "r"(w[2]), [d] "r"(w[3]), GPUDBG_AT)

#define GPUDBG_EACH_MODE(access, kind, place)                                                      \
    if (mode == cudaBoundaryModeZero) {                                                            \
        access(kind, place, "zero");                                                               \
    } else if (mode == cudaBoundaryModeClamp) {                                                    \
        access(kind, place, "clamp");                                                              \
    } else {                                                                                       \
        access(kind, place, "trap");                                                               \
    }

/* The three functions of a geometry: `params` are CUDA's coordinates, x to z those of PTX. */
#define GPUDBG_SURFACE(name, kind, place, params, given, X, Y, Z)                                  \
    template <class T>                                                                             \
    __device__ static inline void name##read(T *value, cudaSurfaceObject_t object,                 \
                                             GPUDBG_ALL params,                                    \
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)  \
    {                                                                                              \
        unsigned w[4] = {};                                                                        \
        unsigned short half = 0;                                                                   \
        const int x = X, y = Y, z = Z;                                                             \
        GPUDBG_EACH_MODE(GPUDBG_READ, kind, place)                                                 \
        __builtin_memcpy(value, sizeof(T) < 4 ? (void *)&half : (void *)w, sizeof(T));             \
    }                                                                                              \
    template <class T>                                                                             \
    __device__ static inline T name##read(cudaSurfaceObject_t object, GPUDBG_ALL params,           \
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)     \
    {                                                                                              \
        T value;                                                                                   \
        name##read(&value, object, GPUDBG_ALL given, mode);                                        \
        return value;                                                                              \
    }                                                                                              \
    template <class T>                                                                             \
    __device__ static inline void name##write(T value, cudaSurfaceObject_t object,                 \
                                              GPUDBG_ALL params,                                   \
                                              cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    {                                                                                              \
        unsigned w[4] = {};                                                                        \
        unsigned short half = 0;                                                                   \
        const int x = X, y = Y, z = Z;                                                             \
        __builtin_memcpy(sizeof(T) < 4 ? (void *)&half : (void *)w, &value, sizeof(T));            \
        GPUDBG_EACH_MODE(GPUDBG_WRITE, kind, place)                                                \
    }
#define GPUDBG_ALL(...) __VA_ARGS__

GPUDBG_SURFACE(surf1D, "1d", "{%[x]}", (int i), (i), i, 0, 0)
GPUDBG_SURFACE(surf2D, "2d", "{%[x], %[y]}", (int i, int j), (i, j), i, j, 0)
GPUDBG_SURFACE(surf3D, "3d", "{%[x], %[y], %[z], %[z]}", (int i, int j, int k), (i, j, k), i, j, k)
GPUDBG_SURFACE(surf1DLayered, "a1d", "{%[z], %[x]}", (int i, int layer), (i, layer), i, 0, layer)
GPUDBG_SURFACE(surf2DLayered, "a2d", "{%[z], %[x], %[y], %[y]}", (int i, int j, int layer),
               (i, j, layer), i, j, layer)
GPUDBG_SURFACE(surfCubemap, "a2d", "{%[z], %[x], %[y], %[y]}", (int i, int j, int face),
               (i, j, face), i, j, face)
GPUDBG_SURFACE(surfCubemapLayered, "a2d", "{%[z], %[x], %[y], %[y]}", (int i, int j, int face),
               (i, j, face), i, j, face)

#undef GPUDBG_AT
#undef GPUDBG_READ
#undef GPUDBG_WRITE
#undef GPUDBG_EACH_MODE
#undef GPUDBG_SURFACE
#undef GPUDBG_ALL
