// More defects of asynchronous code beside clean twins; one kernel a verdict of test_async_more.py.
typedef unsigned u32;
typedef unsigned long long u64;
#define SA(p) ((u32)__cvta_generic_to_shared(p))
#define A(text, ...) asm volatile(text __VA_ARGS__ : "memory")
#define GROUP(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SA(to)), "l"(from) : "memory")
#define COPYN(to, from, n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(SA(to)), "l"(from), "r"(n) : "memory")
#define COPY16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SA(to)), "l"(from) : "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SA(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("{.reg .b64 d; mbarrier.arrive.shared::cta.b64 d, [%0];}" ::"r"(SA(b)) : "memory")
#define COPIED(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(SA(b)) : "memory")
#define TEST(b, p) asm volatile("{.reg .pred q; W: mbarrier.test_wait.parity.shared::cta.b64 q, [%0], %1; @!q bra W;}" ::"r"(SA(b)), "r"(p) : "memory")
#define BAR_SYNC(n, c) asm volatile("bar.sync " #n ", " #c ";" ::: "memory")
#define BAR_ARRIVE(n, c) asm volatile("bar.arrive " #n ", " #c ";" ::: "memory")
#define K extern "C" __global__ void
#define ARGS (const int *in, int *out)
#define T int t = threadIdx.x
// ---- cp.async (sm_80 and later) ----
#define RING3(n, tail) __shared__ int s[3][64]; T, a = 0; for (int i = 0; i < 2; i++) { COPY(&s[i][t], in + 64 * i + t); COMMIT(); } for (int i = 0; i < 6; i++) { GROUP(n); __syncthreads(); a = 3 * a + s[i % 3][63 - t]; if (i + 2 < 6) COPY(&s[(i + 2) % 3][t], in + 64 * (i + 2) + t); tail; } out[t] = a; GROUP(0);
K ring3 ARGS { RING3(1, COMMIT()) }
K ring3_count ARGS { RING3(2, COMMIT()) }
K ring3_tail ARGS { RING3(1, if (i + 2 < 6) COMMIT()) }
K ring3_tail_all ARGS { RING3(0, if (i + 2 < 6) COMMIT()) }
K lanes ARGS { __shared__ int s[32]; T; COPY(s + t, in + t); COMMIT(); GROUP(0); __syncwarp(); out[t] = s[31 - t]; }
K lanes_no_sync ARGS { __shared__ int s[32]; T; COPY(s + t, in + t); COMMIT(); GROUP(0); out[t] = s[31 - t]; }
#define REFILL(sync) __shared__ int s[64]; T; s[t] = t; __syncthreads(); int a = s[63 - t]; sync; COPY(s + t, in + t); COMMIT(); GROUP(0); __syncthreads(); out[t] = a + s[63 - t];
K refill ARGS { REFILL(__syncthreads()) }
K refill_early ARGS { REFILL(__syncwarp()) }
K zeros ARGS { __shared__ int s[64]; T; COPYN(s + t, in + (t < 16 ? t : 1 << 20), t < 16 ? 4 : 0); COMMIT(); GROUP(0); __syncthreads(); out[t] = s[63 - t]; }
K zeros_past ARGS { __shared__ int s[64]; T; COPYN(s + t, in + 480 + t, t < 40 ? 4 : 0); COMMIT(); GROUP(0); __syncthreads(); out[t] = s[63 - t]; }
K same_place ARGS { __shared__ int s[64]; T; COPY(s + t / 2, in + t); COMMIT(); GROUP(0); __syncthreads(); out[t] = s[t / 2]; }
K half_waits ARGS { __shared__ int s[64]; T; COPY(s + t, in + t); COMMIT(); if (t < 32) GROUP(0); __syncthreads(); out[t] = s[63 - t]; GROUP(0); }
K half_copies ARGS { __shared__ int s[64]; T; if (t < 32) { COPY(s + t, in + t); COPY(s + 32 + t, in + 32 + t); COMMIT(); GROUP(0); } __syncthreads(); out[t] = s[63 - t]; }
K source_over (int *in, int *out) { __shared__ int s[64]; T; COPY(s + t, in + t); COMMIT(); in[t] = 7; GROUP(0); __syncthreads(); out[t] = s[63 - t]; }
K source_after (int *in, int *out) { __shared__ int s[64]; T; COPY(s + t, in + t); COMMIT(); GROUP(0); in[t] = 7; __syncthreads(); out[t] = s[63 - t]; }
#define NAMED(one, two) __shared__ int s[32]; T; if (t < 32) { COPY(s + t, in + t); COMMIT(); one; two; GROUP(0); } else { BAR_SYNC(1, 64); out[t] = s[63 - t]; }
K named ARGS { NAMED(GROUP(0), BAR_ARRIVE(1, 64)) }
K named_early ARGS { NAMED(BAR_ARRIVE(1, 64), GROUP(0)) }
K neighbours ARGS { __shared__ __align__(16) int s[128]; T; if (t < 16) COPY16(s + 8 * t, in + 4 * t); else if (t < 32) s[8 * (t - 16) + 4] = t; COMMIT(); GROUP(0); __syncthreads(); out[t] = s[(8 * t & 127) + (t < 16 ? 0 : 4 * (t & 1) * (t < 0))]; }
K neighbours_over ARGS { __shared__ __align__(16) int s[128]; T; if (t < 16) COPY16(s + 8 * t, in + 4 * t); else if (t < 32) s[8 * (t - 16) + 3] = t; COMMIT(); GROUP(0); __syncthreads(); out[t] = s[8 * t & 127]; }
K left ARGS { __shared__ int s[64]; T; COPY(s + t, in + t); COMMIT(); out[t] = in[t]; }
K ignored ARGS { __shared__ int s[64]; __shared__ u64 b; T; if (!t) INIT(&b, 64); __syncthreads(); COPY(s + t, in + t); COPIED(&b); u32 done; asm volatile("{.reg .pred q; mbarrier.test_wait.parity.shared::cta.b64 q, [%1], 0; selp.u32 %0, 1, 0, q;}" : "=r"(done) : "r"(SA(&b)) : "memory"); out[t] = s[t] + 0 * done; TEST(&b, 0); }
K bar_reused ARGS { __shared__ int s[64]; __shared__ u64 b; T; if (!t) INIT(&b, 64); __syncthreads(); COPY(s + t, in + t); COPIED(&b); TEST(&b, 0); __syncthreads(); if (!t) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(SA(&b)) : "memory"); *(volatile int *)&b = 5; } __syncthreads(); out[t] = s[63 - t] + *(volatile int *)&b; }
K phases ARGS { __shared__ int s[64]; __shared__ u64 b; T, a = 0; if (!t) INIT(&b, 64); __syncthreads(); for (int i = 0; i < 4; i++) { COPY(&s[t], in + 64 * i + t); COPIED(&b); TEST(&b, i & 1); a = 3 * a + s[63 - t]; __syncthreads(); } out[t] = a; }
K phases_one ARGS { __shared__ int s[64]; __shared__ u64 b; T, a = 0; if (!t) INIT(&b, 64); __syncthreads(); for (int i = 0; i < 4; i++) { COPY(&s[t], in + 64 * i + t); COPIED(&b); TEST(&b, i & 1); a = 3 * a + s[63 - t]; } out[t] = a; }
K count_over ARGS { __shared__ int s[64]; __shared__ u64 b; T; if (!t) INIT(&b, 65); __syncthreads(); COPY(s + t, in + t); COPIED(&b); TEST(&b, 0); out[t] = s[63 - t]; }
// ---- strong accesses ----
#define NC(p) [&] { int v; asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }()
K constant_path (const int *in, int *out) { __shared__ int z; T; if (!t) z = 0; out[t] = in[t]; __syncthreads(); out[64 + t] = NC(out + 63 - t + *(volatile int *)&z); }
K plain_path (const int *in, int *out) { T; out[t] = in[t]; __syncthreads(); out[64 + t] = ((volatile int *)out)[63 - t]; }
K sizes (const int *in, int *out) { if (!threadIdx.x) { if (blockIdx.x) asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(out), "l"(5ull) : "memory"); else asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(out), "r"(5) : "memory"); } }
K sizes_same (const int *in, int *out) { if (!threadIdx.x) { if (blockIdx.x) asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(out), "r"(6) : "memory"); else asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(out), "r"(5) : "memory"); } }
K sizes_atomic (const int *in, int *out) { if (!threadIdx.x) { if (blockIdx.x) atomicAdd((u64 *)out, 1ull); else atomicAdd(out, 1); } }
K block_atomic (const int *in, int *out) { atomicAdd_block(out, 1); }
K gpu_atomic (const int *in, int *out) { atomicAdd(out, 1); }
#define HAND(write, read) __shared__ int s[32]; __shared__ int f; T; if (!t) f = 0; __syncthreads(); if (t == 0) { s[0] = in[0]; asm volatile(write ".shared.u32 [%0], %1;" ::"r"(SA(&f)), "r"(1) : "memory"); } else if (t == 32) { int v; do asm volatile(read ".shared.u32 %0, [%1];" : "=r"(v) : "r"(SA(&f)) : "memory"); while (!v); out[0] = s[0]; }
K hand_shared ARGS { HAND("st.release.cta", "ld.acquire.cta") }
K hand_shared_relaxed ARGS { HAND("st.relaxed.cta", "ld.relaxed.cta") }
#define HANDG(write, read) T; if (t) return; if (!blockIdx.x) { out[1] = in[0]; asm volatile(write ".global.u32 [%0], %1;" ::"l"(out), "r"(1) : "memory"); } else { int v; do asm volatile(read ".global.u32 %0, [%1];" : "=r"(v) : "l"(out) : "memory"); while (!v); out[2] = ((int *)out)[1]; }
K hand_global (const int *in, int *out) { HANDG("st.release.gpu", "ld.acquire.gpu") }
K hand_global_relaxed (const int *in, int *out) { HANDG("st.relaxed.gpu", "ld.acquire.gpu") }
K hand_global_cta (const int *in, int *out) { HANDG("st.release.cta", "ld.acquire.cta") }
K hand_fences (const int *in, int *out) { T; if (t) return; if (!blockIdx.x) { out[1] = in[0]; __threadfence(); *(volatile int *)out = 1; } else { while (!*(volatile int *)out); __threadfence(); out[2] = out[1]; } }
#if __CUDA_ARCH__ >= 900
// ---- mbarriers, bulk copies (sm_90) ----
#define WAIT(b, p) asm volatile("{.reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @!q bra W;}" ::"r"(SA(b)), "r"(p) : "memory")
#define WAITC(b, p) asm volatile("{.reg .pred q; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q, [%0], %1; @!q bra W;}" ::"r"(SA(b)), "r"(p) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SA(b)), "r"(n) : "memory")
#define INVAL(b) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(SA(b)) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCEG() asm volatile("fence.proxy.async.global;" ::: "memory")
#define BULKR(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(n), "r"(SA(b)) : "memory")
#define BULK(to, from, n, b) BULKR(SA(to), from, n, b)
#define OUTN(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(SA(from)), "r"(n) : "memory")
#define BCOMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BREAD(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define BFULL(n) asm volatile("cp.async.bulk.wait_group " #n ";" ::: "memory")
#define CLUSTER() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define RANK() [&] { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }()
#define MAPA(a, r) [&] { u32 o; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(o) : "r"(a), "r"(r)); return o; }()
#define PAIR __cluster_dims__(2, 1, 1)
#define BULKIN __shared__ __align__(128) int s[128]; __shared__ u64 b, c; T; if (!t) { INIT(&b, 1); INIT(&c, 1); FENCE(); } __syncthreads(); if (!t) { EXPECT(&b, 256); BULK(s, in, 256, &b); }
K one_waits ARGS { BULKIN if (!t) WAIT(&b, 0); __syncthreads(); out[t] = s[63 - t]; }
K one_waits_alone ARGS { BULKIN if (!t) WAIT(&b, 0); __syncwarp(); out[t] = s[63 - t]; WAIT(&b, 0); }
K other_bar ARGS { BULKIN if (!t) ARRIVE(&c); WAIT(&c, 0); out[t] = s[63 - t]; WAIT(&b, 0); }
K other_bar_too ARGS { BULKIN if (!t) ARRIVE(&c); WAIT(&c, 0); WAIT(&b, 0); out[t] = s[63 - t]; }
K few_bytes ARGS { __shared__ __align__(128) int s[128]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 512); BULK(s, in, 256, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[63 - t]; }
K two_copies ARGS { __shared__ __align__(128) int s[128]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 512); BULK(s, in, 256, &b); BULK(s + 64, in + 64, 256, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[63 - t] + s[64 + t]; }
K two_copies_over ARGS { __shared__ __align__(128) int s[128]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 512); BULK(s, in, 256, &b); BULK(s + 60, in + 64, 256, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[63 - t] + s[60 + t]; }
#define PHASED(flip) __shared__ __align__(128) int s[64]; __shared__ u64 b; T, a = 0; if (!t) { INIT(&b, 1); FENCE(); } __syncthreads(); for (int i = 0; i < 4; i++) { if (!t) { EXPECT(&b, 256); BULK(s, in + 64 * i, 256, &b); } WAIT(&b, flip); a = 3 * a + s[63 - t]; FENCE(); __syncthreads(); } out[t] = a;
K phased ARGS { PHASED(i & 1) }
K phased_stuck ARGS { PHASED(0) }
#define STORES(n, commit) __shared__ __align__(128) int s[2][64]; T; s[0][t] = in[t]; s[1][t] = in[64 + t]; FENCE(); __syncthreads(); if (!t) { OUTN(out, s[0], 256); commit; OUTN(out + 64, s[1], 256); BCOMMIT(); BREAD(n); } __syncthreads(); s[0][t] = 1; FENCE(); __syncthreads(); if (!t) { OUTN(out + 128, s[0], 256); BCOMMIT(); BFULL(0); }
K stores ARGS { STORES(1, BCOMMIT()) }
K stores_one_group ARGS { STORES(1, ) }
K stores_zero ARGS { STORES(0, ) }
K store_uncommitted ARGS { __shared__ __align__(128) int s[64]; T; s[t] = in[t]; FENCE(); __syncthreads(); if (!t) { OUTN(out, s, 256); BREAD(0); } __syncthreads(); s[t] = 1; if (!t) { BCOMMIT(); BFULL(0); } out[64 + t] = s[t]; }
#define REDUCE(extra) __shared__ __align__(128) int s[64]; T; s[t] = in[t]; FENCE(); __syncthreads(); if (!t) { asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;" ::"l"(out), "r"(SA(s)) : "memory"); BCOMMIT(); BFULL(0); } extra;
K reduces ARGS { REDUCE() }
K reduces_atomic ARGS { REDUCE(atomicAdd(out + t, 1)) }
K reduces_plain ARGS { REDUCE(if (blockIdx.x) out[t] = 1) }
#define ACROSS(last, wait) __shared__ __align__(128) int s[64], r[64]; __shared__ u64 b; T; u32 me = RANK(); s[t] = in[t] + me; if (!t) { INIT(&b, 1); EXPECT(&b, 256); } FENCE(); CLUSTER(); if (!t) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(MAPA(SA(r), me ^ 1)), "r"(SA(s)), "r"(MAPA(SA(&b), me ^ 1)) : "memory"); wait; out[64 * blockIdx.x + t] = r[63 - t]; last; CLUSTER();
K PAIR across ARGS { ACROSS(, WAIT(&b, 0)) }
K PAIR across_no_wait ARGS { ACROSS(WAIT(&b, 0), ) }
K PAIR across_source ARGS { ACROSS(s[t] = 9, WAIT(&b, 0)) }
K PAIR across_source_after ARGS { ACROSS(CLUSTER(); s[t] = 9, WAIT(&b, 0)) }
#define REMOTE(arrive, wait) __shared__ int s[64]; __shared__ u64 b; T; u32 me = RANK(); if (!t) INIT(&b, 64); CLUSTER(); asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(MAPA(SA(s + t), me ^ 1)), "r"(in[t]) : "memory"); asm volatile(arrive ".shared::cluster.b64 _, [%0];" ::"r"(MAPA(SA(&b), me ^ 1)) : "memory"); wait(&b, 0); out[64 * blockIdx.x + t] = s[63 - t]; CLUSTER();
K PAIR remote ARGS { REMOTE("mbarrier.arrive.release.cluster", WAITC) }
K PAIR remote_narrow ARGS { REMOTE("mbarrier.arrive.release.cluster", WAIT) }
K PAIR remote_relaxed ARGS { REMOTE("mbarrier.arrive.relaxed.cluster", WAITC) }
K PAIR arrives_late ARGS { __shared__ u64 b; T; u32 me = RANK(); if (!t) INIT(&b, 32); CLUSTER(); if (me) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(MAPA(SA(&b), 0)) : "memory"); out[32 * me + t] = t; }
K PAIR arrives_waited ARGS { __shared__ u64 b; T; u32 me = RANK(); if (!t) INIT(&b, 32); CLUSTER(); if (me) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(MAPA(SA(&b), 0)) : "memory"); else WAITC(&b, 0); out[32 * me + t] = t; }
K PAIR at_once ARGS { __shared__ int s[32]; T; u32 me = RANK(); asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(MAPA(SA(s + t), me ^ 1)), "r"(in[t]) : "memory"); CLUSTER(); out[32 * me + t] = s[t]; }
#define MANY(sync) __shared__ __align__(128) int s[64]; __shared__ u64 b; T; u32 me = RANK(); if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 256); } sync; if (!t && !me) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(SA(s)), "l"(in), "r"(SA(&b)), "h"((short)3) : "memory"); WAIT(&b, 0); out[64 * me + t] = s[63 - t]; CLUSTER();
K PAIR many ARGS { MANY(CLUSTER()) }
K PAIR many_early ARGS { MANY(__syncthreads()) }
#define REREAD(fence) __shared__ __align__(128) int s[64]; __shared__ u64 b; T, a; if (!t) { INIT(&b, 1); FENCE(); } s[t] = t; FENCE(); __syncthreads(); a = s[63 - t]; fence; __syncthreads(); if (!t) { EXPECT(&b, 256); BULK(s, in, 256, &b); } WAIT(&b, 0); out[t] = a + s[63 - t];
K reread ARGS { REREAD(FENCE()) }
K reread_unfenced ARGS { REREAD() }
#define THROUGH(fence) __shared__ __align__(128) int s[64]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); } ((int *)out)[t] = in[t] + 1; fence; __syncthreads(); if (!t) { EXPECT(&b, 256); BULK(s, out, 256, &b); } WAIT(&b, 0); out[64 + t] = s[63 - t];
K through_global ARGS { THROUGH(FENCEG()) }
K through_all ARGS { THROUGH(asm volatile("fence.proxy.async;" ::: "memory")) }
K through_unfenced ARGS { THROUGH() }
K bytes_again ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); __syncwarp(); if (!t) { INVAL(&b); *(volatile int *)&b = 7; } __syncwarp(); out[t] = *(volatile int *)&b; }
K init_unordered ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 64); if (t >= 32) { ARRIVE(&b); } else { ARRIVE(&b); } WAIT(&b, 0); out[t] = t; }
K init_ordered ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 64); __syncthreads(); if (t >= 32) { ARRIVE(&b); } else { ARRIVE(&b); } WAIT(&b, 0); out[t] = t; }
K skipped ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); __syncwarp(); ARRIVE(&b); WAIT(&b, 1); out[t] = t; }
K not_skipped ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 32); __syncwarp(); ARRIVE(&b); WAIT(&b, 0); __syncwarp(); ARRIVE(&b); WAIT(&b, 1); out[t] = t; }
K drops ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 32); __syncwarp(); if (t < 16) asm volatile("{.reg .b64 d; mbarrier.arrive_drop.shared::cta.b64 d, [%0];}" ::"r"(SA(&b)) : "memory"); else { ARRIVE(&b); WAIT(&b, 0); ARRIVE(&b); WAIT(&b, 1); } out[t] = t; }
K not_dropped ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 32); __syncwarp(); if (t < 16) { ARRIVE(&b); } else { ARRIVE(&b); WAIT(&b, 0); ARRIVE(&b); WAIT(&b, 1); } out[t] = t; }
K odd_target ARGS { __shared__ __align__(128) int s[128]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 256); BULKR(SA(s) + 4 * (in[1] > 0), in, 256, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[1 + t]; }
K odd_source ARGS { __shared__ __align__(128) int s[128]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 256); BULK(s, in + 1, 256, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[t]; }
K past_source ARGS { __shared__ __align__(128) int s[128]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 256); BULK(s, in + 460, 256, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[t]; }
K past_shared ARGS { __shared__ __align__(128) int s[64]; __shared__ u64 b; T; if (!t) { INIT(&b, 1); FENCE(); EXPECT(&b, 512); BULKR(SA(s) + 128 * in[2], in, 512, &b); } __syncthreads(); WAIT(&b, 0); out[t] = s[t]; }
K PAIR high_rank ARGS { __shared__ int s[32]; T, v; s[t] = t; CLUSTER(); asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(MAPA(SA(s + t), RANK() + 2)) : "memory"); out[32 * RANK() + t] = v; CLUSTER(); }
K PAIR own_rank ARGS { __shared__ int s[32]; T, v; s[t] = t; CLUSTER(); asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(MAPA(SA(s + t), RANK())) : "memory"); out[32 * RANK() + t] = v; CLUSTER(); }
K PAIR mixed_hang ARGS { __shared__ u64 b; T; if (!t) INIT(&b, 33); CLUSTER(); if (RANK()) { ARRIVE(&b); WAIT(&b, 0); } CLUSTER(); out[t] = t; }
K mixed_kinds ARGS { __shared__ __align__(128) int s[64], r[64]; T; s[t] = in[t]; FENCE(); __syncthreads(); COPY(r + t, in + 64 + t); COMMIT(); if (!t) { OUTN(out, s, 256); BCOMMIT(); } GROUP(0); if (!t) BFULL(0); __syncthreads(); out[64 + t] = r[63 - t]; }
#endif
