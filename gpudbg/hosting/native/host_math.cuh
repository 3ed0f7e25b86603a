/* Functions that nvcc gives host code, too, and clang gives kernels alone. */
#pragma once

#define GPUDBG_EXTREMES(type, left, right)                                                         \
    __host__ static inline type min(const left a, const right b)                                   \
    {                                                                                              \
        return (type)a < (type)b ? (type)a : (type)b;                                              \
    }                                                                                              \
    __host__ static inline type max(const left a, const right b)                                   \
    {                                                                                              \
        return (type)a > (type)b ? (type)a : (type)b;                                              \
    }
#define GPUDBG_WHOLE(type)                                                                         \
    GPUDBG_EXTREMES(type, type, type)                                                              \
    GPUDBG_EXTREMES(unsigned type, unsigned type, unsigned type)                                   \
    GPUDBG_EXTREMES(unsigned type, type, unsigned type)                                            \
    GPUDBG_EXTREMES(unsigned type, unsigned type, type)
/* A number is preferred to NaN, as by fmin and fmax. */
#define GPUDBG_REAL(type, left, right)                                                             \
    __host__ static inline type min(const left a, const right b)                                   \
    {                                                                                              \
        return __builtin_fmin(a, b);                                                               \
    }                                                                                              \
    __host__ static inline type max(const left a, const right b)                                   \
    {                                                                                              \
        return __builtin_fmax(a, b);                                                               \
    }

GPUDBG_WHOLE(int)
GPUDBG_WHOLE(long)
GPUDBG_WHOLE(long long)
GPUDBG_REAL(float, float, float)
GPUDBG_REAL(double, double, double)
GPUDBG_REAL(double, float, double)
GPUDBG_REAL(double, double, float)

#undef GPUDBG_EXTREMES
#undef GPUDBG_WHOLE
#undef GPUDBG_REAL
