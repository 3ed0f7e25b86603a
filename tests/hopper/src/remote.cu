#include "ptx.cuh"
// accesses to shared memory of other blocks, whose lanes name several of them
extern "C" __global__ void __cluster_dims__(4) widths(const uint4 *in, uint4 *out)
{
    __shared__ __align__(16) uint4 s[64];
    __shared__ u32 sum[8];
    __shared__ u64 wide[8];
    u32 t = threadIdx.x, r = rank();
    s[t] = in[blockIdx.x * 64 + t];
    if (t < 8) { sum[t] = t; wide[t] = t; }
    cluster_sync();
    uint4 v;
    u32 other = mapa(sa(s + t), (r + t) & 3);
    asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(other) : "memory");
    u32 b, h;
    u64 d;
    asm volatile("ld.shared::cluster.s8 %0, [%1];" : "=r"(b) : "r"(other + 3) : "memory");
    asm volatile("ld.shared::cluster.u16 %0, [%1];" : "=r"(h) : "r"(other + 6) : "memory");
    asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(d) : "r"(other + 8) : "memory");
    u32 x, y;
    u64 w;
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(x) : "r"(mapa(sa(sum + t % 3), (r + t) & 3)), "r"(v.x & 15) : "memory");
    asm volatile("atom.shared::cluster.max.s32 %0, [%1], %2;" : "=r"(y) : "r"(mapa(sa(sum + 3 + t % 2), t & 3)), "r"(v.y) : "memory");
    asm volatile("atom.shared::cluster.exch.b64 %0, [%1], %2;" : "=l"(w) : "r"(mapa(sa(wide + t % 8), r ^ 1)), "l"(d) : "memory");
    cluster_sync();
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1,%2};" ::"r"(mapa(sa(s + t), t >> 4)), "r"(x + b), "r"(y ^ h) : "memory");
    asm volatile("st.shared::cluster.u8 [%0], %1;" ::"r"(mapa(sa(s + t) + 11, (t + 1) & 3)), "r"(r) : "memory");
    cluster_sync();
    v = s[t];
    v.w ^= (u32)w + (t < 8 ? sum[t] + (u32)wide[t] : 0);
    out[blockIdx.x * 64 + t] = v;
}
// arrivals at, and stores counted on, mbarriers of all blocks
extern "C" __global__ void __cluster_dims__(2) counted(u32 *out)
{
    __shared__ u64 full, end;
    __shared__ __align__(16) uint4 s[64];
    __shared__ u32 sum;
    u32 t = threadIdx.x, r = rank();
    if (t == 0) { init(&full, 64); init(&end, 1); sum = 5; expect(&end, 64 * 16 + 64 * 4); }
    s[t] = make_uint4(t, 0, 0, 0);
    cluster_sync();
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapa(sa(&full), t & 1)) : "memory");
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%1,%2}, [%3];" ::"r"(mapa(sa(s + t), r ^ 1)), "r"(t + r), "r"(7u), "r"(mapa(sa(&end), r ^ 1)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(mapa(sa(&sum), r ^ 1)), "r"(t), "r"(mapa(sa(&end), r ^ 1)) : "memory");
    wait(&full, 0);
    wait(&end, 0);
    out[blockIdx.x * 64 + t] = s[t].x * 1000 + s[t].w + sum;
    cluster_sync();
}
// what no block has: a rank, an offset, an alignment, a block that has ended
extern "C" __global__ void __cluster_dims__(2) wrong(u32 *out, u32 kind, u32 lane)
{
    __shared__ u32 s[64];
    u32 t = threadIdx.x, r = rank();
    s[t] = t;
    cluster_sync();
    u32 at = mapa(sa(s + t), r ^ 1);
    if (t == lane)
        at = kind == 0 ? at + (5u << 24) : kind == 1 ? at + 0x8000 : kind == 2 ? at + 1 : at;
    if (kind == 3 && r == 1)
        return;
    for (u32 n = 0; kind == 3 && n < 400; n++)
        out[t] += n;
    u32 v;
    if (kind == 4)
        asm volatile("atom.shared::cluster.add.u32 %0, [%1], 3;" : "=r"(v) : "r"(at + (t == lane ? 2 : 0)) : "memory");
    else
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    out[t] = v;
    cluster_sync();
}
// pointers that may point anywhere
extern "C" __global__ void anywhere(u32 *out, u32 which)
{
    __shared__ u32 s[32];
    u32 l[4], t = threadIdx.x;
    for (u32 n = 0; n < 4; n++)
        l[(n + which) & 3] = t * n;
    s[t] = t;
    __syncthreads();
    u32 *p = which == 0 ? out + t : which == 1 ? s + (t ^ 1) : which == 2 ? l + (t & 3) : t & 1 ? s + t : out + t;
    for (u32 n = 0; n < 20; n++) {
        *p += n;
        if (which != 2)
            atomicAdd(p, n);
        __syncwarp();
    }
    out[32 + t] = *p + l[t & 3] + s[t];
}
