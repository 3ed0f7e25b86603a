// Products of warp groups, tensor maps, registers of warp groups, three launches in a chain; one kernel a verdict of test_async_groups.py.
typedef unsigned u32; typedef unsigned long long u64;
struct __align__(64) Map { u64 w[16]; };
#define SA(p) ((u32)__cvta_generic_to_shared(p))
#define K extern "C" __global__ void
#define T int t = threadIdx.x
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SA(b)), "r"(n) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SA(b)), "r"(n) : "memory")
#define WAIT(b, p) asm volatile("{.reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @!q bra W;}" ::"r"(SA(b)), "r"(p) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define LOAD(to, map, x, y, b) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(SA(b)) : "memory")
#define MAPFENCE(m) asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(m) : "memory")
// a tensor map in global memory that the kernel itself writes
#define OWNMAP(fence) __shared__ __align__(1024) int s[1024]; __shared__ u64 b; T; if (t < 16) to->w[t] = from->w[t]; if (!t) { INIT(&b, 1); FENCE(); } __threadfence(); __syncthreads(); if (!t) { fence; EXPECT(&b, 1024); LOAD(SA(s), to, 0, 0, &b); } WAIT(&b, 0); out[t] = s[t];
K own_map(const Map *from, Map *to, int *out) { OWNMAP(MAPFENCE(to)) }
K own_map_unfenced(const Map *from, Map *to, int *out) { OWNMAP() }
#define BOX(at) __shared__ __align__(1024) int s[1024]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); } __syncthreads(); if (!t) { EXPECT(&b, 1024); LOAD(SA(s) + at, from, 0, 0, &b); } WAIT(&b, 0); out[t] = s[t];
K box(const Map *from, Map *to, int *out) { BOX(0) }
K box_between(const Map *from, Map *to, int *out) { BOX(128) }
K box_odd(const Map *from, Map *to, int *out) { BOX(64) }
K map_odd(const Map *from, Map *to, int *out) { __shared__ __align__(1024) int s[1024]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 1024); LOAD(SA(s), (const char *)from + 32, 0, 0, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[t]; }
// products
__device__ __forceinline__ u64 desc(u32 a) { return (u64)(a >> 4 & 0x3fff) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32; }
#define WFENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WCOMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WWAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
#define MMA(c) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(da), "l"(db))
#define MMAR(c) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db))
#define SETUP __shared__ __align__(1024) unsigned short s[64 * 16 + 8 * 16]; T; for (int i = t; i < 64 * 16 + 128; i += blockDim.x) s[i] = in[i]; FENCE(); __syncthreads(); float c[4] = {}; u64 da = desc(SA(s)), db = desc(SA(s + 1024));
#define STORE for (int i = 0; i < 4; i++) out[t * 4 + i] = c[i];
K product(const unsigned short *in, float *out) { SETUP WFENCE(); MMA(c); WCOMMIT(); WWAIT(0); STORE }
K two_products(const unsigned short *in, float *out) { SETUP WFENCE(); MMA(c); MMA(c); WCOMMIT(); WWAIT(0); for (int i = 0; i < 4; i++) c[i] *= 2; WFENCE(); MMA(c); WCOMMIT(); WWAIT(0); STORE }
K product_of_registers(const unsigned short *in, float *out) { SETUP u32 a[4]; for (int i = 0; i < 4; i++) a[i] = in[4 * t + i & 1023]; WFENCE(); MMAR(c); WCOMMIT(); WWAIT(0); STORE }
K some_warps(const unsigned short *in, float *out) { SETUP if (t < 96) { WFENCE(); MMA(c); WCOMMIT(); WWAIT(0); } STORE }
K other_order(const unsigned short *in, float *out) { SETUP float e[4] = {}; if (t < 64) { WFENCE(); MMA(c); MMA(e); WCOMMIT(); WWAIT(0); } else { WFENCE(); MMA(e); MMA(c); WCOMMIT(); WWAIT(0); } for (int i = 0; i < 4; i++) out[t * 4 + i] = c[i] + e[i]; }
K two_groups(const unsigned short *in, float *out) { SETUP if (t < 128) { WFENCE(); MMA(c); WCOMMIT(); WWAIT(0); } else { WFENCE(); MMA(c); MMA(c); WCOMMIT(); WWAIT(0); } STORE }
#define STAGE(wait) SETUP WFENCE(); MMA(c); WCOMMIT(); wait; __syncthreads(); if (t < 64) s[1024 + t] = 7; FENCE(); __syncthreads(); WFENCE(); MMA(c); WCOMMIT(); WWAIT(0); STORE
K stage(const unsigned short *in, float *out) { STAGE(WWAIT(0)) }
K stage_early(const unsigned short *in, float *out) { STAGE(WWAIT(1)) }
// launches that overlap, three in a chain
#define GWAIT() asm volatile("griddepcontrol.wait;" ::: "memory")
#define GNEXT() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
K one(int *x) { GNEXT(); x[threadIdx.x] = threadIdx.x; }
K two(int *y) { GNEXT(); GWAIT(); y[threadIdx.x] = 2 * threadIdx.x; }
K two_no_wait(int *y) { GNEXT(); y[threadIdx.x] = 2 * threadIdx.x; }
K three(const int *x, const int *y, int *z) { GWAIT(); z[threadIdx.x] = x[threadIdx.x ^ 1] + y[threadIdx.x ^ 1]; }
K over(const int *x, int *y) { y[threadIdx.x] = 1; GWAIT(); }
K published(int *x) { x[threadIdx.x] = threadIdx.x; __threadfence(); GNEXT(); x[64 + threadIdx.x] = 1; }
K reads_published(const int *x, int *y) { y[threadIdx.x] = ((volatile int *)x)[threadIdx.x ^ 1]; GWAIT(); }
K reads_rest(const int *x, int *y) { y[threadIdx.x] = ((volatile int *)x)[64 + (threadIdx.x ^ 1)]; GWAIT(); }
// setmaxnreg
#define REGS(first, second) __shared__ int s[256]; T; s[t] = in[t]; __syncthreads(); if (t < 128) { first; out[t] = s[t + 1]; } else { second; out[t] = s[t - 1]; }
#define LESS(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 " #n ";" ::: "memory")
#define MORE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 " #n ";" ::: "memory")
#define MEET(n) asm volatile("bar.sync " #n ", 128;" ::: "memory")
K __launch_bounds__(256, 1) regs(const int *in, int *out) { REGS(LESS(40), MORE(240)) }
K __launch_bounds__(256, 1) regs_twice(const int *in, int *out) { REGS(LESS(80); MEET(1); LESS(40), MORE(240)) }
K __launch_bounds__(256, 1) regs_no_meeting(const int *in, int *out) { REGS(LESS(80); LESS(40), MORE(240)) }
K __launch_bounds__(256, 1) regs_some(const int *in, int *out) { REGS(if (t < 64) LESS(40), MORE(240)) }
K __launch_bounds__(256, 1) regs_differ(const int *in, int *out) { REGS(if (t < 64) LESS(40); else LESS(48), MORE(240)) }
K __launch_bounds__(256, 1) regs_up(const int *in, int *out) { REGS(LESS(40); MEET(1); LESS(80), MORE(240)) }
