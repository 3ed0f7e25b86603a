#include "ptx.cuh"
// bulk copies: multicast to a cluster, from block to block, reductions to global memory
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(const int *in, int *out)
{
    __shared__ __align__(128) int s[128];
    __shared__ u64 bar;
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, 1);
        expect(&bar, 512);
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    cluster_sync();
    if (t == 0)     // each block loads a half for both
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;"
                     ::"r"(sa(s + 64 * rank())), "l"(in + 64 * rank()), "r"(sa(&bar)), "h"((unsigned short)3) : "memory");
    wait(&bar, 0);
    out[blockIdx.x * 128 + t] = s[127 - t] + rank();
    cluster_sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) neighbour(const int *in, int *out)
{
    __shared__ __align__(128) int s[64], r[64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t] * 3;
    if (t == 0) {
        init(&bar, 1);
        expect(&bar, 256);
    }
    fence_async();
    cluster_sync();
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     ::"r"(mapa(sa(r), rank() ^ 1)), "r"(sa(s)), "r"(mapa(sa(&bar), rank() ^ 1)) : "memory");
    wait(&bar, 0);
    out[blockIdx.x * 64 + t] = r[t] + t;
    cluster_sync();
}
#define REDUCE(op, type, p) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op "." type " [%0], [%1], 128;" ::"l"(p), "r"(sa(s)) : "memory")
extern "C" __global__ void reduce(const u32 *in, u32 *o)
{
    __shared__ __align__(128) u32 s[32];
    s[threadIdx.x] = in[threadIdx.x];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        REDUCE("add", "u32", o);
        REDUCE("min", "s32", o + 32);
        REDUCE("max", "u32", o + 64);
        REDUCE("xor", "b32", o + 96);
        REDUCE("add", "u64", o + 128);
        REDUCE("add", "f32", o + 160);
        REDUCE("add.noftz", "f16", o + 192);
        REDUCE("min", "bf16", o + 224);
        REDUCE("inc", "u32", o + 256);
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
// stores to another block that count on its mbarrier, arrivals there, atomics on its memory
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote(const int *in, int *out)
{
    __shared__ int s[64], sum, most;
    __shared__ u64 bar, done;
    int t = threadIdx.x;
    u32 other = rank() ^ 1;
    if (t == 0) {
        init(&bar, 1);
        init(&done, 64);
        expect(&bar, 64 * 4 + 64 * 4);
        sum = 0;
        most = 0;
    }
    cluster_sync();
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 ::"r"(mapa(sa(s + t), other)), "r"(in[blockIdx.x * 64 + t]), "r"(mapa(sa(&bar), other)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 ::"r"(mapa(sa(&sum), other)), "r"(t), "r"(mapa(sa(&bar), other)) : "memory");
    asm volatile("atom.shared::cluster.max.s32 _, [%0], %1;" ::"r"(mapa(sa(&most), other)), "r"(t + 7 * (int)rank()) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapa(sa(&done), other)) : "memory");
    wait(&bar, 0);
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra W;}" ::"r"(sa(&done)), "r"(0) : "memory");
    out[blockIdx.x * 64 + t] = s[63 - t] + sum * 1000 + most * 10000000;
    cluster_sync();
}
