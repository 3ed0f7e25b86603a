// compile: -arch=sm_80
// One warp multiplies a 16x16 matrix of halves by a 16x8 one on a tensor core: d = a * b.
#include <cuda_fp16.h>

extern "C" __global__ void tile(const __half *left, const __half *right, float *d)
{
    const unsigned *a = (const unsigned *)left, *b = (const unsigned *)right;
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    // A word holds two halves that follow each other along k: a by rows, b by columns.
    unsigned a0 = a[g * 8 + t];
    unsigned a1 = a[g * 8 + t + 4];
    unsigned a2 = a[(g + 8) * 8 + t];
    unsigned a3 = a[(g + 8) * 8 + t + 4];
    unsigned b0 = b[g * 8 + t];
    unsigned b1 = b[g * 8 + t + 4];
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    d[g * 8 + 2 * t] = d0;
    d[g * 8 + 2 * t + 1] = d1;
    d[(g + 8) * 8 + 2 * t] = d2;
    d[(g + 8) * 8 + 2 * t + 1] = d3;
}
