#include "ptx.cuh"
// tensors of one to five dimensions, strides between elements, channels of pixels, reductions
#define BOX(dims, coords, ...) asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" coords "}], [%2];" ::"r"(sa(s)), "l"(&m), "r"(sa(&bar)), __VA_ARGS__ : "memory")
DEV void copy_out(const u32 *s, u32 *out, int words)
{
    for (int n = threadIdx.x; n < words; n += 32)
        out[n] = s[n];
}
#define BEGIN(bytes) \
    __shared__ __align__(1024) u32 s[2048]; \
    __shared__ u64 bar; \
    if (threadIdx.x == 0) { init(&bar, 1); fence_async(); expect(&bar, bytes);
#define END(bytes) } __syncthreads(); wait(&bar, 0); copy_out(s, out, bytes / 4);
extern "C" __global__ void boxes1(const __grid_constant__ Map m, u32 *out, int bytes, int c0) { BEGIN(bytes) BOX("1d", "%3", "r"(c0)); END(bytes) }
extern "C" __global__ void boxes3(const __grid_constant__ Map m, u32 *out, int bytes, int c0, int c1, int c2) { BEGIN(bytes) BOX("3d", "%3, %4, %5", "r"(c0), "r"(c1), "r"(c2)); END(bytes) }
extern "C" __global__ void boxes5(const __grid_constant__ Map m, u32 *out, int bytes, int c0, int c1, int c2, int c3, int c4)
{
    BEGIN(bytes) BOX("5d", "%3, %4, %5, %6, %7", "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)); END(bytes)
}
extern "C" __global__ void pixels(const __grid_constant__ Map m, u32 *out, int bytes, int c, int w, int h, int n, int ow, int oh)
{
    BEGIN(bytes)
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
                 ::"r"(sa(s)), "l"(&m), "r"(sa(&bar)), "r"(c), "r"(w), "r"(h), "r"(n), "h"((unsigned short)ow), "h"((unsigned short)oh) : "memory");
    END(bytes)
}
extern "C" __global__ void sums(const __grid_constant__ Map m, const u32 *in, int x, int y)
{
    __shared__ __align__(128) u32 s[256];
    for (int n = threadIdx.x; n < 256; n += 32)
        s[n] = in[n];
    fence_async();
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&m), "r"(x), "r"(y));
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&m), "r"(x), "r"(y), "r"(sa(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
// generic addresses in a cluster, spaces, ranks; dependent launches; shuffles that lanes come to apart
extern "C" __global__ void __cluster_dims__(2, 2, 1) generic(u32 *out)
{
    __shared__ u32 s[32];
    u32 me = rank(), t = threadIdx.x, r[6];
    asm volatile("griddepcontrol.wait;" ::: "memory");
    s[t] = me * 100 + t;
    cluster_sync();
    u64 own = (u64)(void *)(s + t), there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(3 - me));
    r[0] = *(volatile u32 *)there;
    asm("{.reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(r[1]) : "l"(there));
    asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(r[2]) : "l"(there));
    asm("getctarank.u64 %0, %1;" : "=r"(r[3]) : "l"(there));
    asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(r[4]) : "l"(own));
    r[5] = 0;
    if (t & 1)
        r[5] = __shfl_xor_sync(0xaaaaaaaa, t, 2) + __popc(__ballot_sync(0xaaaaaaaa, t > 8));
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    cluster_sync();
    atomicAdd((u32 *)there, 1000);
    cluster_sync();
    r[0] += s[t];
    for (int n = 0; n < 6; n++)
        out[((blockIdx.y * 2 + blockIdx.x) * 32 + t) * 6 + n] = r[n];
}
// shuffles whose masks are known at run time only
extern "C" __global__ void apart(const u32 *masks, u32 *out)
{
    u32 t = threadIdx.x, v = t * 3;
    if (t % 3 == 0)
        v = __shfl_down_sync(masks[0], v, 3) + __any_sync(masks[0], t == 9);
    else if (t % 3 == 1)
        v = __shfl_up_sync(masks[1], v, 3) + __reduce_add_sync(masks[1], 1);
    out[t] = v;
}
