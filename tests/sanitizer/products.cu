// A product of a warp group whose shared memory is overwritten, or lacks a fence, beside a clean twin.
typedef unsigned u32; typedef unsigned long long u64;
#define SA(p) ((u32)__cvta_generic_to_shared(p))
__device__ __forceinline__ u64 desc(u32 a) { return (u64)(a >> 4 & 0x3fff) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32; }
#define BODY(FENCE, WAIT1) __shared__ __align__(1024) unsigned short s[64 * 16 + 8 * 16]; int t = threadIdx.x; for (int i = t; i < 64 * 16 + 128; i += 128) s[i] = in[i]; FENCE; __syncthreads(); float c[4] = {}; u64 da = desc(SA(s)), db = desc(SA(s + 1024)); \
 asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(da), "l"(db)); asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); WAIT1; s[t] = 7; asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); for (int i = 0; i < 4; i++) out[t * 4 + i] = c[i] + s[t];
extern "C" __global__ void clean(const unsigned short *in, float *out) { BODY(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"), asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); __syncthreads()) }
extern "C" __global__ void over(const unsigned short *in, float *out) { BODY(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"), ) }
extern "C" __global__ void nofence(const unsigned short *in, float *out) { BODY(, asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); __syncthreads()) }
