#include "ptx.cuh"
// stmatrix of four matrices as they are, and of two transposed
extern "C" __global__ void store_matrices(const u32 *in, u32 *out)
{
    __shared__ __align__(16) u32 s[256];
    int t = threadIdx.x;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(sa(s + (t ^ 5) * 4)), "r"(in[t]), "r"(in[32 + t]), "r"(in[64 + t]), "r"(in[96 + t]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(sa(s + 128 + t % 16 * 4)), "r"(in[t]), "r"(in[32 + t]) : "memory");
    __syncwarp();
    for (int n = 0; n < 256; n += 32)
        out[n + t] = s[n + t];
}
