// What the order of lanes, inactive lanes, atomics and special places are like on a card.
// Every kernel stores words; tests/silicon/probes.py says how they are launched.
typedef unsigned u32;
typedef unsigned long long u64;
#define LANE (threadIdx.x & 31)
__device__ __forceinline__ u32 mask_now() { u32 m; asm volatile("activemask.b32 %0;" : "=r"(m)); return m; }
__device__ __forceinline__ u32 ticket(u32 *c) { return atomicAdd(c, 1); }
__device__ __forceinline__ u32 clock_now() { u32 m; asm volatile("mov.u32 %0, %clock;" : "=r"(m)::"memory"); return m; }

// Which side of a branch runs first: times and masks on both sides and behind.
extern "C" __global__ void order_if(u32 *out, u32 kind, u32 number) {
  u32 lane = LANE, a = 0, m = 0; bool p;
  if (kind == 0) p = lane < number; else if (kind == 1) p = lane >= number; else if (kind == 2) p = lane & 1;
  else if (kind == 3) p = lane == number; else p = lane != number;
  if (p) { m = mask_now(); a = clock_now(); out[32 + lane] = 1; } else { m = mask_now(); a = clock_now(); out[64 + lane] = 2; }
  u32 b = clock_now(), n = mask_now();
  out[lane] = a; out[96 + lane] = m; out[128 + lane] = b; out[160 + lane] = n; out[192 + lane] = p;
}
// A branch whose sides both loop: how they interleave.
extern "C" __global__ void order_loops(u32 *out, u32 number, u32 *seen) {
  u32 lane = LANE;
  if (lane < number) for (u32 i = 0; i < 8; i++) { u32 c = clock_now(); if (lane == 0) out[i] = c; seen[lane] += c; }
  else for (u32 i = 0; i < 8; i++) { u32 c = clock_now(); if (lane == 31) out[8 + i] = c; seen[lane] -= c; }
  u32 n = mask_now(); out[32 + lane] = n;
}
extern "C" __global__ void order_switch(u32 *out, u32 mod, u32 *seen) {
  u32 lane = LANE, a = 0, m = 0;
  switch (lane % mod) {
    case 0: a = clock_now(); m = mask_now(); seen[lane] = 5; break;
    case 1: a = clock_now(); m = mask_now(); seen[lane] = 6 + a; break;
    case 2: a = clock_now(); m = mask_now(); seen[lane] = 7 - a; break;
    case 3: a = clock_now(); m = mask_now(); seen[lane] = 8 ^ a; break;
    case 4: a = clock_now(); m = mask_now(); seen[lane] = 9 | a; break;
    default: a = clock_now(); m = mask_now(); seen[lane] = 10 * a;
  }
  u32 n = mask_now();
  out[lane] = a; out[32 + lane] = m; out[64 + lane] = n;
}
// Lanes leave a loop one after another; order of what each does behind.
extern "C" __global__ void order_trips(u32 *out, u32 *in) {
  u32 lane = LANE, n = in[lane], x = 0;
  while (x < n) { x++; in[64 + lane] = x; }
  u32 m = mask_now(), c = clock_now();
  out[lane] = c; out[32 + lane] = m;
}
// A lock inside a warp: the order in which lanes get it.
extern "C" __global__ void order_lock(u32 *out, u32 *lock) {
  u32 lane = LANE; bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) { u32 t = lock[1]; lock[1] = t + 1; out[lane] = t; __threadfence(); atomicExch(lock, 0); done = true; }
  }
  out[32 + lane] = mask_now();
}
// A handoff from one lane to another, both ways.
extern "C" __global__ void order_handoff(u32 *out, volatile u32 *flag, u32 waits) {
  u32 lane = LANE, n = 0;
  if (lane == waits) { while (flag[0] == 0 && n < 1000000) n++; out[lane] = n; } else { flag[0] = 1; out[lane] = 77; }
  out[32 + lane] = mask_now();
}
// Old values that atomics of one warp return, in memory and in shared memory.
extern "C" __global__ void atomics(u32 *out, u32 *mem) {
  __shared__ u32 s[64];
  __shared__ float sf[2];
  u32 lane = LANE;
  s[lane] = 0; s[32 + lane] = 0; if (lane < 2) sf[lane] = 0.f;
  __syncwarp();
  out[lane] = atomicAdd(mem, 1); out[32 + lane] = atomicAdd(&s[0], 1);
  out[64 + lane] = atomicExch(mem + 8, lane + 1); out[96 + lane] = atomicExch(&s[1], lane + 1);
  out[128 + lane] = atomicAdd(mem + 16, lane); out[160 + lane] = atomicAdd(&s[2], lane);
  out[192 + lane] = atomicCAS(mem + 24, lane, lane + 1); out[224 + lane] = atomicCAS(&s[3], lane, lane + 1);
  out[256 + lane] = __float_as_uint(atomicAdd((float *)mem + 32, (float)(1 << (lane % 24)))); out[288 + lane] = __float_as_uint(atomicAdd(&sf[0], (float)(1 << (lane % 24))));
  out[320 + lane] = atomicInc(mem + 40, 5); out[352 + lane] = atomicInc(&s[4], 5);
  out[384 + lane] = atomicMax(mem + 48, lane * 7 % 32); out[416 + lane] = atomicMax(&s[5], lane * 7 % 32);
  out[448 + lane] = atomicAdd(mem + 56 + (lane & 3), 1); out[480 + lane] = atomicAdd(&s[8 + (lane & 3)], 1);
  out[512 + lane] = atomicAdd(mem + 64 + (lane & 1) * 32, 1); out[544 + lane] = atomicAnd(mem + 72, ~(1u << lane));
}
extern "C" __global__ void atomics_wide(u64 *out, u64 *mem) {
  __shared__ u64 s[8]; __shared__ double sd[1];
  u32 lane = LANE; if (lane < 8) s[lane] = 0; if (lane == 0) sd[0] = 0;
  __syncwarp();
  out[lane] = atomicAdd(mem, 1ull); out[32 + lane] = atomicAdd(&s[0], 1ull);
  out[64 + lane] = atomicExch(mem + 1, (u64)lane + 1); out[96 + lane] = atomicExch(&s[1], (u64)lane + 1);
  out[128 + lane] = __double_as_longlong(atomicAdd((double *)mem + 2, (double)(1ull << lane))); out[160 + lane] = __double_as_longlong(atomicAdd(&sd[0], (double)(1ull << lane)));
  out[192 + lane] = atomicCAS(mem + 4, (u64)lane, (u64)lane + 1); out[224 + lane] = atomicCAS(&s[2], (u64)lane, (u64)lane + 1);
  out[256 + lane] = atomicMax(mem + 5, (u64)(lane * 7 % 32)); out[288 + lane] = atomicMax(&s[3], (u64)(lane * 7 % 32));
}
extern "C" __global__ void atomics_some(u32 *out, u32 *mem, u32 mask) {
  u32 lane = LANE; out[lane] = 99; out[32 + lane] = 99;
  if (mask >> lane & 1) { out[lane] = atomicAdd(mem, 1); out[32 + lane] = atomicExch(mem + 8, lane + 1); }
}
// Which lane's store stays where several store to one place.
extern "C" __global__ void same_place(u32 *out, unsigned char *b) {
  __shared__ u32 s[64]; __shared__ uint4 v[4]; __shared__ unsigned char c[64]; __shared__ u64 w[8];
  u32 lane = LANE;
  ((volatile u32 *)out)[0] = lane; ((volatile u32 *)out)[1 + (lane & 1)] = lane; ((volatile u32 *)out)[3 + (lane >> 4)] = lane; ((volatile u32 *)out)[5 + (lane * 5 & 3)] = lane;
  ((volatile u32 *)s)[0] = lane; ((volatile u32 *)s)[1 + (lane & 1)] = lane; ((volatile u32 *)s)[3 + (lane >> 4)] = lane; ((volatile u32 *)s)[5 + (lane * 5 & 3)] = lane;
  v[0] = make_uint4(lane, lane, lane, lane); v[1 + (lane & 1)] = make_uint4(lane, lane + 100, lane, lane);
  ((volatile unsigned char *)c)[0] = lane; ((volatile unsigned char *)c)[4 + (lane & 3)] = lane; ((volatile u64 *)w)[0] = lane; ((volatile u64 *)w)[1 + (lane & 1)] = lane;
  b[0] = lane; b[1 + (lane & 1)] = lane; ((volatile unsigned char *)b)[3 + (lane >> 3)] = lane;
  ((volatile u64 *)(b + 16))[0] = lane; *(uint4 *)(b + 32) = make_uint4(lane, lane, lane, lane);
  if (lane & 4) ((volatile u32 *)out)[100] = lane;
  __syncwarp();
  if (lane < 12) out[16 + lane] = s[lane];
  if (lane < 12) out[32 + lane] = ((u32 *)v)[lane];
  if (lane < 8) out[48 + lane] = c[lane];
  if (lane < 6) out[64 + lane] = ((u32 *)w)[lane];
}
// Shared-memory bank conflicts: cycles of a chain of loads.
template <class T> __device__ u32 chain(T *s, u32 stride) {
  u32 at = LANE * stride, t0, t1, x = 0;
  for (int pass = 0; pass < 2; pass++) {
    __syncwarp(); t0 = clock_now();
#pragma unroll
    for (int i = 0; i < 16; i++) { T v = ((volatile T *)s)[(at + x) % (16384 / sizeof(T))]; x = (u32)v; }
    t1 = clock_now();
  }
  return t1 - t0 + x;
}
extern "C" __global__ void banks(u32 *out) {
  extern __shared__ u32 s[];
  for (u32 i = LANE; i < 4096; i += 32) s[i] = 0;
  __syncwarp();
  u32 k = 0;
  for (u32 stride = 0; stride <= 40; stride++) { u32 c = chain(s, stride); if (LANE == 0) out[k] = c; k++; }
  for (u32 stride = 0; stride <= 40; stride++) { u32 c = chain((u64 *)s, stride); if (LANE == 0) out[k] = c; k++; }
  for (u32 stride = 0; stride <= 40; stride++) { u32 c = chain((unsigned char *)s, stride); if (LANE == 0) out[k] = c; k++; }
}
extern "C" __global__ void banks128(u32 *out) {
  extern __shared__ u32 s[];
  for (u32 i = LANE; i < 4096; i += 32) s[i] = 0;
  __syncwarp();
  for (u32 stride = 0; stride <= 40; stride++) {
    u32 x = 0, t0 = 0, t1 = 0;
    for (int pass = 0; pass < 2; pass++) {
      __syncwarp(); t0 = clock_now();
#pragma unroll
      for (int i = 0; i < 16; i++) { u32 a, b, c, d, p = ((LANE * stride + x) % 1024) * 16 + (u32)__cvta_generic_to_shared(s); asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p)); x = a; }
      t1 = clock_now();
    }
    if (LANE == 0) out[stride] = t1 - t0 + x;
  }
}
// Bytes nobody wrote: shared memory, dynamic and static, and local memory.
extern "C" __global__ void fresh_shared(u32 *out) { extern __shared__ u32 s[]; for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) out[blockIdx.x * 1024 + i] = ((volatile u32 *)s)[i]; }
extern "C" __global__ void dirty_shared(u32 v) { extern __shared__ u32 s[]; for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) ((volatile u32 *)s)[i] = v + i; }
extern "C" __global__ void fresh_local(u32 *out, u32 n) { volatile u32 a[64]; for (u32 i = 0; i < 64; i++) out[threadIdx.x * 64 + i] = a[(i * n) & 63]; }
// Addresses of windows, of shared and local variables, of parameters.
extern "C" __global__ void windows(u64 *out, const __grid_constant__ u64 p) {
  __shared__ u32 s[4]; extern __shared__ u32 d[]; volatile u32 a[4]; a[0] = 1;
  u64 t = threadIdx.x + blockIdx.x * blockDim.x; u64 *o = out + 16 * t;
  o[0] = (u64)(void *)s; o[1] = __cvta_generic_to_shared(s); o[2] = (u64)(void *)d; o[3] = __cvta_generic_to_shared(d);
  o[4] = (u64)(void *)a; o[5] = __cvta_generic_to_local((void *)a); o[6] = (u64)&p; u64 c; asm volatile("cvta.param.u64 %0, %1;" : "=l"(c) : "l"(__cvta_generic_to_shared(s))); o[7] = c;
  u32 w, n; asm volatile("mov.u32 %0, %total_smem_size;" : "=r"(w)); asm volatile("mov.u32 %0, %dynamic_smem_size;" : "=r"(n)); o[8] = w | (u64)n << 32;
  asm volatile("mov.u32 %0, %aggr_smem_size;" : "=r"(w)); asm volatile("mov.u32 %0, %smid;" : "=r"(n)); o[9] = w | (u64)n << 32;
  asm volatile("mov.u32 %0, %nsmid;" : "=r"(w)); asm volatile("mov.u32 %0, %warpid;" : "=r"(n)); o[10] = w | (u64)n << 32;
  asm volatile("mov.u32 %0, %nwarpid;" : "=r"(w)); asm volatile("mov.u32 %0, %laneid;" : "=r"(n)); o[11] = w | (u64)n << 32;
  u64 g; asm volatile("mov.u64 %0, %gridid;" : "=l"(g)); o[12] = g; asm volatile("mov.u64 %0, %clock64;" : "=l"(g)); o[13] = g; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(g)); o[14] = g;
  u32 e1, e2; asm volatile("mov.u32 %0, %envreg1;" : "=r"(e1)); asm volatile("mov.u32 %0, %envreg2;" : "=r"(e2)); o[15] = e1 | (u64)e2 << 32;
}
extern "C" __global__ void reserved(u32 *out) {
  u32 w; asm volatile("mov.u32 %0, %reserved_smem_offset_begin;" : "=r"(w)); out[0] = w; asm volatile("mov.u32 %0, %reserved_smem_offset_end;" : "=r"(w)); out[1] = w;
  asm volatile("mov.u32 %0, %reserved_smem_offset_cap;" : "=r"(w)); out[2] = w; asm volatile("mov.u32 %0, %reserved_smem_offset_0;" : "=r"(w)); out[3] = w; asm volatile("mov.u32 %0, %reserved_smem_offset_1;" : "=r"(w)); out[4] = w;
}
// nanosleep and timers.
extern "C" __global__ void sleeps(u64 *out) {
  u32 k = 0; u32 times[8] = {0, 20, 100, 1000, 5000, 20000, 100000, 1000000};
  for (int i = 0; i < 8; i++) { u64 a, b, c, d; asm volatile("mov.u64 %0, %globaltimer; mov.u64 %1, %clock64;" : "=l"(a), "=l"(c)::"memory"); asm volatile("nanosleep.u32 %0;" ::"r"(times[i]) : "memory");
    asm volatile("mov.u64 %0, %globaltimer; mov.u64 %1, %clock64;" : "=l"(b), "=l"(d)::"memory"); out[k++] = b - a; out[k++] = d - c; }
  u64 last = 0, n = 0; for (int i = 0; i < 200000 && n < 16; i++) { u64 g; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(g)::"memory"); if (g != last) { out[16 + n++] = g - last; last = g; } }
}
// Votes, matches and reductions of the lanes that are there.
extern "C" __global__ void votes(u32 *out, u32 gone, u32 away) {
  u32 lane = LANE; if (gone >> lane & 1) return;
  if (away >> lane & 1) { out[256 + lane] = __activemask(); return; }
  out[lane] = __activemask(); u32 all = mask_now();
  out[32 + lane] = __ballot_sync(all, lane & 1); out[64 + lane] = __match_any_sync(all, lane % 3); int p; out[96 + lane] = __match_all_sync(all, 5, &p) + p;
  out[128 + lane] = __reduce_add_sync(all, lane); out[160 + lane] = __shfl_down_sync(all, lane * 10, 1); out[192 + lane] = __shfl_xor_sync(all, lane * 10, 3); out[224 + lane] = __shfl_sync(all, lane * 10, lane + 5, 8);
}
// Blocks and their SMs, warps and their slots.
extern "C" __global__ void places(u32 *out) {
  u32 sm, w; asm volatile("mov.u32 %0, %smid;" : "=r"(sm)); asm volatile("mov.u32 %0, %warpid;" : "=r"(w));
  if (LANE == 0) { u32 k = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; out[2 * k] = sm; out[2 * k + 1] = w; }
}
