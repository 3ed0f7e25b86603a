#include "ptx.cuh"
// one product of a warp group each: A and B lie in shared memory as the caller laid them out,
// descriptors count from its beginning; the accumulators come and go by thread and register
extern "C" __global__ void __launch_bounds__(128) f16_kmajor(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[32];
    for (int n = 0; n < 32; n++)
        c[n] = d[t * 32 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 32; n++)
        d[t * 32 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) f16_across(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[32];
    for (int n = 0; n < 32; n++)
        c[n] = d[t * 32 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 1, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 32; n++)
        d[t * 32 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) f16_negative(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, -1, 1, 0, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) f16_half(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, u32 *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    u32 c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, -1, 0, 0;}"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]), "+r"(c[7]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) bf16_registers(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %13, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, 1, 1, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) tf32(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[4];
    for (int n = 0; n < 4; n++)
        c[n] = d[t * 4 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, p, 1, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 4; n++)
        d[t * 4 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) fp8(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) fp8_half(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, u32 *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    u32 c[4];
    for (int n = 0; n < 4; n++)
        c[n] = d[t * 4 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k32.f16.e5m2.e4m3 {%0, %1, %2, %3}, %4, %5, p, 1, 1;}"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 4; n++)
        d[t * 4 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) s8(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, u32 *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    u32 c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.u8.satfinite {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p;}"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]), "+r"(c[7]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) b1(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, u32 *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    u32 c[4];
    for (int n = 0; n < 4; n++)
        c[n] = d[t * 4 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%0, %1, %2, %3}, %4, %5, p;}"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "l"(da), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 4; n++)
        d[t * 4 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) f16_sparse(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %11, 0;\n"
                 "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, %10, 0, p, 1, 1, 0, 0;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "l"(da), "l"(db), "r"(meta), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) s8_sparse(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, u32 *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    u32 c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %11, 0;\n"
                 "wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, %10, 0, p;}"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]), "+r"(c[7]) : "l"(da), "l"(db), "r"(meta), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) bf16_registers_negative(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[8];
    for (int n = 0; n < 8; n++)
        c[n] = d[t * 8 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %13, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, -1, 1, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 8; n++)
        d[t * 8 + n] = c[n];
}
extern "C" __global__ void __launch_bounds__(128) tf32_registers_negative(const int4 *image, u64 da, u64 db, u32 accumulate, const u32 *more, float *d)
{
    extern __shared__ __align__(1024) int4 s[];
    int t = threadIdx.x;
    for (int n = t; n < 1024; n += 128)
        s[n] = image[n];
    float c[4];
    for (int n = 0; n < 4; n++)
        c[n] = d[t * 4 + n];
    u32 a[4];
    for (int n = 0; n < 4; n++)
        a[n] = more[t * 4 + n];
    u32 meta = a[0];
    da += sa(s) >> 4 & 0x3fff;
    db += sa(s) >> 4 & 0x3fff;
    fence_async();
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %9, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, -1, 1;}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 4; n++)
        d[t * 4 + n] = c[n];
}
