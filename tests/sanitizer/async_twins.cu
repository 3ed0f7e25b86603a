// Defects of asynchronous code beside clean twins; one kernel a verdict of test_async_twins.py.
typedef unsigned u32;
typedef unsigned long long u64;
#define SA(p) ((u32)__cvta_generic_to_shared(p))
#define GROUP(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SA(to)), "l"(from) : "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SA(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("{.reg .b64 d; mbarrier.arrive.shared::cta.b64 d, [%0];}" ::"r"(SA(b)) : "memory")
#define COPIED(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(SA(b)) : "memory")
#define TEST(b, p) asm volatile("{.reg .pred q; W: mbarrier.test_wait.parity.shared::cta.b64 q, [%0], %1; @!q bra W;}" ::"r"(SA(b)), "r"(p) : "memory")
#define K extern "C" __global__ void
// ---- cp.async (sm_80 and later) ----
K commit_late(const int *in, int *out) { __shared__ int s[64]; int t = threadIdx.x; COPY(s + t, in + t); GROUP(0); COMMIT(); __syncthreads(); out[t] = s[63 - t]; GROUP(0); }
K commit_clean(const int *in, int *out) { __shared__ int s[64]; int t = threadIdx.x; COPY(s + t, in + t); COMMIT(); GROUP(0); __syncthreads(); out[t] = s[63 - t]; }
K twice(const int *in, int *out) { __shared__ int s[64]; int t = threadIdx.x; COPY(s + t, in + t); COMMIT(); COPY(s + t, in + 64 + t); COMMIT(); GROUP(0); __syncthreads(); out[t] = s[63 - t]; }
K store_over(const int *in, int *out) { __shared__ int s[64]; int t = threadIdx.x; COPY(s + t, in + t); COMMIT(); s[t] = 5; GROUP(0); __syncthreads(); out[t] = s[63 - t]; }
K bar_copies(const int *in, int *out) { __shared__ int s[64]; __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 64); __syncthreads(); COPY(s + t, in + t); COPIED(&b); TEST(&b, 0); out[t] = s[63 - t]; }
K bar_thread(const int *in, int *out) { __shared__ int s[64]; __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 64); __syncthreads(); COPY(s + t, in + t); ARRIVE(&b); TEST(&b, 0); out[t] = s[63 - t]; GROUP(0); }
K bar_only_copies(const int *in, int *out) { __shared__ int s[64], r[64]; __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 64); __syncthreads(); r[t] = t; COPY(s + t, in + t); COPIED(&b); TEST(&b, 0); out[t] = s[63 - t] + r[63 - t]; }
K bar_data(const int *in, int *out) { __shared__ int s[64]; __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 64); __syncthreads(); s[t] = in[t]; ARRIVE(&b); TEST(&b, 0); out[t] = s[63 - t]; }
K bar_no_init_order(const int *in, int *out) { __shared__ int s[64]; __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 64); s[t] = in[t]; ARRIVE(&b); TEST(&b, 0); out[t] = s[63 - t]; }
#if __CUDA_ARCH__ >= 900
// ---- mbarriers, bulk copies (sm_90) ----
#define WAIT(b, p) asm volatile("{.reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @!q bra W;}" ::"r"(SA(b)), "r"(p) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SA(b)), "r"(n) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(SA(to)), "l"(from), "r"(n), "r"(SA(b)) : "memory")
#define OUT(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" ::"l"(to), "r"(SA(from)), "r"(n) : "memory")
#define CLUSTER() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define RING(read, release, wait_empty) __shared__ __align__(128) int s[2][64]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x, acc = 0; if (!t) { for (int n = 0; n < 2; n++) { INIT(full + n, 1); INIT(empty + n, 64); } FENCE(); } __syncthreads(); if (t >= 64) { if (t == 64) for (int i = 0; i < 6; i++) { wait_empty; EXPECT(full + i % 2, 256); BULK(s[i % 2], in + 64 * i, 256, full + i % 2); } } else { for (int i = 0; i < 6; i++) { WAIT(full + i % 2, i / 2 & 1); read; FENCE(); release; } out[t] = acc; }
K ring(const int *in, int *out) { RING(acc = acc * 3 + s[i % 2][63 - t], ARRIVE(empty + i % 2), WAIT(empty + i % 2, i / 2 & 1 ^ 1)) }
K ring_early(const int *in, int *out) { RING(ARRIVE(empty + i % 2); acc = acc * 3 + s[i % 2][63 - t], , WAIT(empty + i % 2, i / 2 & 1 ^ 1)) }
K reinit(int *out) { __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); __syncwarp(); if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); out[t] = t; }
K reinit_clean(int *out) { __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); __syncwarp(); if (!t) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(SA(&b)) : "memory"); INIT(&b, 32); } __syncwarp(); ARRIVE(&b); WAIT(&b, 0); out[t] = t; }
K no_init(int *out) { __shared__ u64 b[2]; int t = threadIdx.x; if (!t) INIT(b, 32); __syncwarp(); ARRIVE(b + (t & 32)); if (t == 0) ARRIVE(b + 1); out[t] = t; }
K bytes_touched(int *out) { __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); __syncwarp(); if (!t) *(volatile int *)&b = 7; out[t] = t; }
K underflow(int *out) { __shared__ u64 b; int t = threadIdx.x; if (!t) { INIT(&b, 1); EXPECT(&b, 64); ARRIVE(&b); } out[t] = t; }
K few(int *out) { __shared__ u64 b; int t = threadIdx.x; if (!t) INIT(&b, 33); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); out[t] = t; }
K store_waits(const int *in, int *out) { __shared__ __align__(128) int s[64]; int t = threadIdx.x; s[t] = in[t]; FENCE(); __syncthreads(); if (!t) { OUT(out, s, 256); asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); out[0] = 1; } }
K store_reads(const int *in, int *out) { __shared__ __align__(128) int s[64]; int t = threadIdx.x; s[t] = in[t]; FENCE(); __syncthreads(); if (!t) { OUT(out, s, 256); asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); out[0] = 1; } }
K store_leaves(const int *in, int *out) { __shared__ __align__(128) int s[64]; int t = threadIdx.x; s[t] = in[t]; FENCE(); __syncthreads(); if (!t) OUT(out, s, 256); }
K fence_early(const int *in, int *out) { __shared__ __align__(128) int s[64]; int t = threadIdx.x; if (!t) FENCE(); s[t] = in[t]; __syncthreads(); if (!t) { OUT(out, s, 256); asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); } }
K fence_issuer(const int *in, int *out) { __shared__ __align__(128) int s[64]; int t = threadIdx.x; s[t] = in[t]; __syncthreads(); if (!t) { FENCE(); OUT(out, s, 256); asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); } }
K __cluster_dims__(2, 1, 1) st_async(const int *in, int *out) { __shared__ int s[32]; __shared__ u64 b; int t = threadIdx.x; u32 r, a, m; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); if (!t) { INIT(&b, 1); EXPECT(&b, 128); } CLUSTER(); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(SA(s + t)), "r"(r ^ 1)); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(m) : "r"(SA(&b)), "r"(r ^ 1)); asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(a), "r"(in[t]), "r"(m) : "memory"); WAIT(&b, 0); out[blockIdx.x * 32 + t] = s[31 - t]; CLUSTER(); }
K __cluster_dims__(2, 1, 1) st_async_no_wait(const int *in, int *out) { __shared__ int s[32]; __shared__ u64 b; int t = threadIdx.x; u32 r, a, m; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); if (!t) { INIT(&b, 1); EXPECT(&b, 128); } CLUSTER(); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(SA(s + t)), "r"(r ^ 1)); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(m) : "r"(SA(&b)), "r"(r ^ 1)); asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(a), "r"(in[t]), "r"(m) : "memory"); out[blockIdx.x * 32 + t] = s[31 - t]; WAIT(&b, 0); CLUSTER(); }
// ---- dependent launches ----
K first(int *x) { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); x[threadIdx.x] = threadIdx.x; }
K second(const int *x, int *y) { asm volatile("griddepcontrol.wait;" ::: "memory"); y[threadIdx.x] = x[threadIdx.x ^ 1]; }
K second_no_wait(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x ^ 1]; }
K second_late(const int *x, int *y) { int v = x[threadIdx.x ^ 1]; asm volatile("griddepcontrol.wait;" ::: "memory"); y[threadIdx.x] = v; }
#endif
