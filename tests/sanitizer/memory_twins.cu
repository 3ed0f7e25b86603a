// Twins of tests/sanitizer/test_memory_twins.py: a defect, and the same without it (_ok). One kernel a line.
__device__ int left[32]; __device__ int right[32]; __device__ int after[32];
__device__ float grid2[4][8]; __device__ float beside[8]; __device__ unsigned char raw[12]; __device__ unsigned char more[12];
__device__ int *table[2]; __constant__ int weights[16]; __constant__ int biases[16];
struct Pair { int a[4]; int b[4]; }; __device__ Pair pairs[4]; __device__ int tail[8];
extern "C" __global__ void sym_read(int *o, int n) { o[threadIdx.x] = left[threadIdx.x + n]; if (n > 99) right[n] = n; }
extern "C" __global__ void sym_write(int *o, int n) { left[threadIdx.x + n] = o[threadIdx.x]; if (n > 99) o[0] = right[n & 31]; }
extern "C" __global__ void sym_before(int *o, int n) { int i = (int)threadIdx.x - n; right[i] = i; o[threadIdx.x] = left[threadIdx.x]; }
extern "C" __global__ void sym_atomic(int *o, int n) { atomicAdd(&left[threadIdx.x + n], 1); if (n > 99) o[0] = right[n & 31] + after[n & 31]; }
extern "C" __global__ void sym_rows(float *o, int n) { o[threadIdx.x] = grid2[n][threadIdx.x & 7] + beside[threadIdx.x & 7]; }
extern "C" __global__ void sym_walk(int *o, int n) { int s = 0; for (int *p = left; p != left + n; ++p) s += *p; o[threadIdx.x] = s + right[threadIdx.x]; }
extern "C" __global__ void sym_bytes(int *o, int n) { o[threadIdx.x] = raw[(threadIdx.x & 7) + n] + more[threadIdx.x & 7]; }
__device__ __noinline__ int at(const int *p, int i) { return p[i]; }
extern "C" __global__ void sym_call(int *o, int n) { o[threadIdx.x] = at(left, threadIdx.x + n) + at(right, threadIdx.x); }
extern "C" __global__ void sym_struct(int *o, int n) { o[threadIdx.x] = pairs[n].b[threadIdx.x & 3] + tail[threadIdx.x & 7]; }
extern "C" __global__ void sym_const(int *o, int n) { const int *p = weights; asm volatile("" : "+l"(p)); o[threadIdx.x] = p[(threadIdx.x & 15) + n] + biases[n]; }
// Clean without a twin: addresses of variables in ways that only look wrong.
extern "C" __global__ void sym_select_ok(int *o, int n) { int *p = n & 1 ? left : right; o[threadIdx.x] = p[threadIdx.x] + after[threadIdx.x]; }
extern "C" __global__ void sym_branch_ok(int *o, int n) { int *p = left; if (threadIdx.x & 1) p = right; for (int i = 0; i < n; ++i) p[threadIdx.x] += i; o[threadIdx.x] = p[threadIdx.x]; }
extern "C" __global__ void sym_table_ok(int *o, int n) { if (threadIdx.x == 0) { table[0] = left; table[1] = right; } __syncthreads(); o[threadIdx.x] = table[n & 1][threadIdx.x]; }
extern "C" __global__ void sym_one_based_ok(int *o, int n) { int *p = right - 1; for (int i = 1; i <= n; ++i) o[threadIdx.x] += p[i]; o[threadIdx.x] += left[0]; }
extern "C" __global__ void sym_from_end_ok(int *o, int n) { int *p = left + 32; int s = 0; while (p != left) s += *--p; o[threadIdx.x] = s + n + right[0]; }
extern "C" __global__ void sym_distance_ok(int *o, int n) { long d = right - left; o[threadIdx.x] = left[threadIdx.x] + (int)(d != n) + *(left + d + (threadIdx.x - d)); }
extern "C" __global__ void sym_swap_ok(int *o, int n) { int *a = left, *b = right; for (int i = 0; i < n; ++i) { b[threadIdx.x] = a[threadIdx.x] + 1; int *t = a; a = b; b = t; } o[threadIdx.x] = a[threadIdx.x]; }
extern "C" __global__ void sym_argument_ok(int *o, int n) { int *p = n > 2 ? o : left; for (int i = 0; i < n; ++i) p[threadIdx.x] += i; if (n > 99) right[0] = 1; }
extern "C" __global__ void sym_wide_ok(int *o, int n) { int4 v = ((int4 *)left)[threadIdx.x & 7]; o[threadIdx.x] = v.x + v.y + v.z + v.w + right[n & 31]; }
extern "C" __global__ void sym_hash_ok(int *o, int n) { unsigned long h = (unsigned long)left * 2654435761u; o[threadIdx.x] = right[(h >> 7) & 31] + n; }
// The heap.
extern "C" __global__ void leak(int *o, int n) { int *p = (int *)malloc(16); p[0] = n; o[threadIdx.x] = p[0]; if (threadIdx.x >= 4 || n) return; free(p); }
extern "C" __global__ void leak_ok(int *o, int n) { int *p = (int *)malloc(16); p[0] = n; o[threadIdx.x] = p[0]; free(p); }
extern "C" __global__ void twice(int *o, int n) { int *p = (int *)malloc(32); p[0] = 1; o[threadIdx.x] = p[0]; free(p); if (n) free(p); }
extern "C" __global__ void twice_ok(int *o, int n) { int *p = (int *)malloc(32); p[0] = 1; o[threadIdx.x] = p[0]; free(p); if (n) p = 0; free(p); }
extern "C" __global__ void inner_free(int *o, int n) { int *p = (int *)malloc(32); o[threadIdx.x] = 1; free(p + n); }
extern "C" __global__ void after_free(int *o, int n) { int *p = (int *)malloc(32); p[1] = n; free(p); o[threadIdx.x] = *(volatile int *)(p + 1); }
extern "C" __global__ void after_free_ok(int *o, int n) { int *p = (int *)malloc(32); p[1] = n; o[threadIdx.x] = *(volatile int *)(p + 1); free(p); }
extern "C" __global__ void heap_past(int *o, int n) { int *p = (int *)malloc(16); for (int i = 0; i < 4; ++i) p[i] = i; o[threadIdx.x] = ((volatile int *)p)[n]; free(p); }
extern "C" __global__ void heap_other(int *o, int n) { __shared__ int *p; if (threadIdx.x == 0) { p = (int *)malloc(128); for (int i = 0; i < 32; ++i) p[i] = n; } __syncthreads(); if (threadIdx.x == 33 && n) free(p); __syncthreads(); if (threadIdx.x < 32) o[threadIdx.x] = *(volatile int *)(p + threadIdx.x); __syncthreads(); if (threadIdx.x == 33 && !n) free(p); }
// Alignment and bounds by space.
extern "C" __global__ void aligned(int *o, int n) { int2 v = *(int2 *)(o + n); o[threadIdx.x + 8] = v.x + v.y; }
extern "C" __global__ void shared_aligned(int *o, int n) { extern __shared__ char buffer[]; buffer[threadIdx.x] = 1; buffer[threadIdx.x + 32] = 2; __syncthreads(); o[threadIdx.x] = *(int *)(buffer + n); }
extern "C" __global__ void local_aligned(int *o, int n) { char b[32]; for (int i = 0; i < 32; ++i) b[(i + n) & 31] = (char)o[i]; o[threadIdx.x + 32] = *(volatile int *)(b + n); }
extern "C" __global__ void dynamic(int *o, int n) { extern __shared__ int words[]; words[threadIdx.x] = n; __syncthreads(); o[threadIdx.x] = words[threadIdx.x ^ n]; }
extern "C" __global__ void frame(int *o, int n) { int b[8]; for (int i = 0; i < 8; ++i) b[(i + n) & 7] = o[i]; o[threadIdx.x + 32] = b[n * 1000]; }
extern "C" __global__ void bank(int *o, int n) { o[threadIdx.x] = biases[threadIdx.x & 15] + weights[(threadIdx.x & 15) + n]; }
extern "C" __global__ void two_places(int *o, int n) { o[threadIdx.x + n] = 1; __syncthreads(); o[threadIdx.x] += o[threadIdx.x + n + 4]; }
extern "C" __global__ void vector_tail(int *o, int n) { ((int4 *)(o + n))[threadIdx.x] = make_int4(1, 2, 3, 4); }
extern "C" __global__ void null_later(int *o, int n) { int *p = n ? 0 : o + 7; if (threadIdx.x == 7) *(volatile int *)p = 1; else o[threadIdx.x] = 2; }
extern "C" __global__ void reduction(int *o, int n) { atomicMax(o + threadIdx.x + n, 3); }
extern "C" __global__ void two_buffers(int *o, int *p, int n) { p[threadIdx.x] = 1; o[(int)threadIdx.x - n] = 2; }
extern "C" __global__ void surface_row(unsigned long long s, int *o, int n) { int v; asm volatile("suld.b.2d.b32.trap %0, [%1, {%2, %3}];" : "=r"(v) : "l"(s), "r"((int)threadIdx.x * 4), "r"(n)); o[threadIdx.x] = v; }
extern "C" __global__ void surface_store(unsigned long long s, int *o, int n) { asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"((int)threadIdx.x * 4 + n), "r"(1), "r"(5)); o[threadIdx.x] = n; }
extern "C" __global__ void surface_clamp(unsigned long long s, int *o, int n) { int v; asm volatile("suld.b.2d.b32.clamp %0, [%1, {%2, %3}];" : "=r"(v) : "l"(s), "r"((int)threadIdx.x * 4), "r"(n)); o[threadIdx.x] = v; }
extern "C" __global__ void surface_zero(unsigned long long s, int *o, int n) { int v; asm volatile("suld.b.2d.b32.zero %0, [%1, {%2, %3}];" : "=r"(v) : "l"(s), "r"((int)threadIdx.x * 4), "r"(n)); o[threadIdx.x] = v; }
extern "C" __global__ void texture_far(unsigned long long t, float *o, int n) { float a, b, c, d; asm volatile("tex.2d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5, %6}];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(t), "r"((int)threadIdx.x), "r"(n)); o[threadIdx.x] = a; }
