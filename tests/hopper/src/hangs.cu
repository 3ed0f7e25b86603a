#include "ptx.cuh"
// waits that never end: for bytes that nobody copies, for a warp that never comes
extern "C" __global__ void bytes(const int *in, int *out)
{
    __shared__ __align__(128) int s[64];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        fence_async();
        expect(&bar, 272);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(sa(s)), "l"(in), "r"(sa(&bar)) : "memory");
    }
    __syncthreads();
    wait(&bar, 0);
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(volatile int *go)
{
    if (rank() == 1 && threadIdx.x >= 32)
        while (!*go)
            ;
    cluster_sync();
}
