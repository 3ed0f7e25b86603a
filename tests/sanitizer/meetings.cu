// Lanes and blocks that meet otherwise than they should, beside clean twins; one kernel a verdict of test_meetings.py.
typedef unsigned u32;
#define K extern "C" __global__ void
#define T int t = threadIdx.x
#define TILE unsigned m = 0xffffu << (t & 16)
K tiles(const int *in, int *out) { __shared__ int s[64]; T; TILE; s[t] = in[t]; __syncwarp(m); out[t] = s[t ^ 15]; }
K tiles_across(const int *in, int *out) { __shared__ int s[64]; T; TILE; s[t] = in[t]; __syncwarp(m); out[t] = s[t ^ 31]; }
K vote(const int *in, int *out) { T; u32 m = 0; if (t < 16) m = __ballot_sync(0xffff, in[t] > 3); out[t] = m; }
K vote_absent(const int *in, int *out) { T; u32 m = 0; if (t < 16) m = __ballot_sync(0xffffff, in[t] > 3); out[t] = m; }
K twice(const int *in, int *out) { T; if (t < 32) { asm volatile("bar.arrive 1, 96;" ::: "memory"); asm volatile("bar.arrive 2, 64;" ::: "memory"); asm volatile("bar.arrive 1, 96;" ::: "memory"); } else { asm volatile("bar.sync 2, 64;" ::: "memory"); asm volatile("bar.sync 1, 96;" ::: "memory"); } out[t] = t; }
K halves(const unsigned short *in, int *out) { unsigned short c = 0; unsigned char d = 3; for (int i = 0; i < 12; i++) { c += in[i]; d ^= (unsigned char)c; if (d & 4) c++; } out[threadIdx.x] = c * d; }
K below(const int *in, int *out) { __shared__ int s[64]; T; s[t] = in[t]; __syncthreads(); out[t] = s[t - (in[1] == 1)]; }
K handed(const int *in, int *out) { __shared__ int f, d; T; if (!t) f = 0; __syncthreads(); if (t == 32) { d = 7; asm volatile("st.release.cta.shared.s32 [%0], 1;" ::"r"((u32)__cvta_generic_to_shared(&f)) : "memory"); } if (t < 32) { int v; asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(v) : "r"((u32)__cvta_generic_to_shared(&f)) : "memory"); out[t] = v ? d : 0; } }
K handed_plain(const int *in, int *out) { __shared__ int f; T; if (!t) f = 0; __syncthreads(); if (t == 32) asm volatile("st.release.cta.shared.s32 [%0], 1;" ::"r"((u32)__cvta_generic_to_shared(&f)) : "memory"); if (t < 32) { int v = f; __syncwarp(); out[t] = v; } }
K flag(const int *in, int *out) { __shared__ int f, d; T; if (!t) f = 0; __syncthreads(); if (t == 32) { d = in[5]; __threadfence_block(); *(volatile int *)&f = 1; } if (!t) { while (!*(volatile int *)&f) ; __threadfence_block(); out[0] = d; } }
K flag_bare(const int *in, int *out) { __shared__ int f, d; T; if (!t) f = 0; __syncthreads(); if (t == 32) { d = in[5]; __threadfence_block(); *(volatile int *)&f = 1; } if (!t) { while (!*(volatile int *)&f) ; out[0] = *(volatile int *)&d; } }
K odd_count(const int *in, int *out) { T; asm volatile("bar.sync 1, %0;" ::"r"(40 + in[0]) : "memory"); out[t] = t; }
K gone_by(const int *in, int *out) { T, c = 0; if (in[t] > 3) c = __syncthreads_count(1); out[t] = c; }
K gone(const int *in, int *out) { T; if (t >= 40) return; __syncthreads(); out[t] = in[t]; }
K apart(const int *in, int *out) { T, v = in[t]; if (t < 16) v = __shfl_xor_sync(~0u, v, 1);
 out[t] = v; }
