// arch: sm_80
#include "ptx.cuh"
// copies of cp.async that arrive on an mbarrier, the plain form and .noinc
extern "C" __global__ void copies(const int *in, int *out)
{
    __shared__ __align__(16) int s[2][256];
    __shared__ u64 b[2];
    int t = threadIdx.x;
    if (t < 2)
        init(b + t, 64);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(sa(s[0] + 4 * t)), "l"(in + 4 * t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(sa(b)) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(sa(s[1] + 4 * t)), "l"(in + 256 + 4 * t), "r"(t & 1 ? 16 : 4) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(sa(b + 1)) : "memory");
    asm volatile("{.reg .b64 d; mbarrier.arrive.shared::cta.b64 d, [%0];}" ::"r"(sa(b + 1)) : "memory");
    for (int n = 0; n < 2; n++)
        asm volatile("{.reg .pred p; W: mbarrier.test_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W;}" ::"r"(sa(b + n)) : "memory");
    for (int n = 0; n < 4; n++)
        out[n * 64 + t] = s[0][255 - n * 64 - t] + 3 * s[1][n * 64 + t];
}
