typedef unsigned u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
__device__ u32 table[64];
K ok(u32 *p) { p[threadIdx.x] = 1; }
K g_load(u32 *p, u64 a) { p[threadIdx.x] = *(volatile u32 *)a; }
K g_store(u32 *p, u64 a) { if (threadIdx.x == 5) *(volatile u32 *)a = 7; }
K g_past(u32 *p, u64 n) { if (threadIdx.x >= 30) p[n + threadIdx.x] = 7; }
K g_mis4(u32 *p, u64 a) { if (threadIdx.x == 3) *(volatile u32 *)((char *)p + 2) = 1; }
K g_mis8(u32 *p, u64 a) { if (threadIdx.x == 3) *(volatile u64 *)((char *)p + 4) = 1; }
K g_mis16(u32 *p, u64 a) { if (threadIdx.x == 3) { asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" :: "l"((char *)p + 8), "r"(1)); } }
K g_atom(u32 *p, u64 a) { if (threadIdx.x == 3) atomicAdd((u32 *)a, 1); }
K g_atom_mis(u32 *p, u64 a) { if (threadIdx.x == 3) { u32 x; asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(x) : "l"((char *)p + 2)); } }
K s_store(u32 *p, u32 a) { asm volatile("st.shared.u32 [%0], 1;" :: "r"(a + threadIdx.x)); }
K s_load(u32 *p, u32 a) { u32 x; asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(a)); p[threadIdx.x] = x; }
K s_mis(u32 *p, u32 a) { __shared__ u32 s[8]; if (threadIdx.x == 3) asm volatile("st.shared.u32 [%0], 1;" :: "r"((u32)__cvta_generic_to_shared(s) + 1)); }
K s_atom(u32 *p, u32 a) { u32 x; asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(x) : "r"(a)); p[0] = x; }
K l_store(u32 *p, u32 a) { asm volatile("st.local.u32 [%0], 1;" :: "r"(a)); }
K l_load(u32 *p, u32 a) { u32 x; asm volatile("ld.local.u32 %0, [%1];" : "=r"(x) : "r"(a)); p[threadIdx.x] = x; }
K l_mis(u32 *p, u32 a) { u32 b[8]; b[p[0] & 7] = 1; u32 q; asm volatile("{.reg .u64 t; cvta.to.local.u64 t, %1; cvt.u32.u64 %0, t;}" : "=r"(q) : "l"(b)); asm volatile("st.local.u32 [%0], 1;" :: "r"(q + 1)); p[1] = b[p[2] & 7]; }
K generic_local_atom(u32 *p, u32 a) { u32 b[8]; b[p[0] & 7] = 1; u32 x; asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(x) : "l"((u64)(void *)b)); p[1] = x + b[p[2] & 7]; }
K generic_past_shared(u32 *p, u32 a) { __shared__ u32 s[4]; ((volatile u32 *)s)[0] = 1; *(volatile u32 *)((char *)s + a) = 3; }
__device__ __noinline__ u32 deep(u32 n, u32 *p) { volatile u32 a[32]; a[n & 31] = n; if (n == 0) return p[0]; u32 r = deep(n - 1, p); return r + a[(n + 3) & 31]; }
K stack(u32 *p, u32 n) { p[threadIdx.x] = deep(n, p); }
K trap(u32 *p, u32 n) { if (threadIdx.x == 9) asm volatile("trap;"); p[0] = 1; }
K brkpt(u32 *p, u32 n) { if (threadIdx.x == 9) asm volatile("brkpt;"); p[0] = 1; }
K asserts(u32 *p, u32 n) { if (threadIdx.x == 9) __assertfail("p[0] == 1", "faults.cu", 33, "asserts", 1); p[0] = 1; }
K bar_id(u32 *p, u32 n) { asm volatile("bar.sync %0;" :: "r"(n)); p[0] = 1; }
K bar_count(u32 *p, u32 n) { asm volatile("bar.sync 1, %0;" :: "r"(n)); p[0] = 1; }
typedef u32 (*F)(u32);
__device__ u32 twice(u32 x) { return 2 * x; }
__device__ u32 thrice(u32 x) { return 3 * x; }
__device__ F fs[2] = {twice, thrice};
K call(u32 *p, u64 a) { F f = a ? (F)a : fs[p[0] & 1]; p[threadIdx.x] = f(threadIdx.x); }
K call_off(u32 *p, u64 a) { F f = (F)((u64)fs[p[0] & 1] + a); p[threadIdx.x] = f(threadIdx.x); }
K mbar_garbage(u32 *p, u32 n) { __shared__ u64 b; b = 0x123456789abcdef1ull + n; u64 s; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"((u32)__cvta_generic_to_shared(&b))); p[0] = (u32)s; }
K mbar_count0(u32 *p, u32 n) { __shared__ u64 b; asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"((u32)__cvta_generic_to_shared(&b)), "r"(n)); p[0] = (u32)b; p[1] = (u32)(b >> 32); }
K mbar_over(u32 *p, u32 n) { __shared__ u64 b; if (threadIdx.x == 0) { u32 a = (u32)__cvta_generic_to_shared(&b); asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(a)); p[0] = (u32)b; p[1] = (u32)(b >> 32); u64 s; asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(a), "r"(n)); p[2] = (u32)b; p[3] = (u32)(b >> 32); p[4] = (u32)s; p[5] = (u32)(s >> 32); } }
K mbar_tx(u32 *p, u32 n) { __shared__ u64 b; if (threadIdx.x == 0) { u32 a = (u32)__cvta_generic_to_shared(&b); asm volatile("mbarrier.init.shared.b64 [%0], 2;" :: "r"(a)); u64 s; asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(a), "r"(n)); p[2] = (u32)b; p[3] = (u32)(b >> 32); asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(a), "r"(n)); p[4] = (u32)b; p[5] = (u32)(b >> 32); } }
K mbar_mis(u32 *p, u32 n) { __shared__ u64 b[2]; asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"((u32)__cvta_generic_to_shared(b) + 4)); }
K bulk_mis(u32 *p, u64 n) { __shared__ __align__(128) u32 s[64]; __shared__ u64 b; if (threadIdx.x == 0) { u32 a = (u32)__cvta_generic_to_shared(&b); asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(a)); asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"((u32)__cvta_generic_to_shared(s)), "l"((u64)p + n), "r"(64), "r"(a) : "memory"); u64 t; asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], 64;" : "=l"(t) : "r"(a)); asm volatile("{.reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0; @!q bra W;}" :: "r"(a) : "memory"); p[0] = s[0]; } }
K bulk_size(u32 *p, u32 n) { __shared__ __align__(128) u32 s[64]; __shared__ u64 b; if (threadIdx.x == 0) { u32 a = (u32)__cvta_generic_to_shared(&b); asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(a)); asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"((u32)__cvta_generic_to_shared(s)), "l"(p), "r"(n), "r"(a) : "memory"); u64 t; asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;" : "=l"(t) : "r"(a), "r"(n)); asm volatile("{.reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0; @!q bra W;}" :: "r"(a) : "memory"); p[0] = s[0]; } }
K ldmatrix_mis(u32 *p, u32 n) { __shared__ __align__(16) u32 s[256]; u32 x; s[threadIdx.x] = 0; __syncwarp(); asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"((u32)__cvta_generic_to_shared(s) + 16 * (threadIdx.x & 7) + n)); p[threadIdx.x] = x; }
K const_past(u32 *p, u32 n) { u32 x; asm volatile("ld.const.u32 %0, [%1];" : "=r"(x) : "l"((u64)n * 16)); p[threadIdx.x] = x; }
K cpasync_mis(u32 *p, u32 n) { __shared__ __align__(16) u32 s[64]; asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"((u32)__cvta_generic_to_shared(s) + n), "l"(p)); asm volatile("cp.async.wait_all;"); p[0] = s[0]; }
K mapa_rank(u32 *p, u32 n) { __shared__ u32 s[4]; s[0] = 5; u32 a; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"((u32)__cvta_generic_to_shared(s)), "r"(n)); u32 x; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(a)); p[threadIdx.x] = x; p[32] = a; }
K tex_bad(u32 *p, u64 h) { float x, y, z, w; asm volatile("tex.1d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5}];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(h), "r"(0)); p[threadIdx.x] = __float_as_uint(x); }
K bar_missing(u32 *p, u32 n) { if (threadIdx.x < 32) return; asm volatile("bar.sync 0, 64;"); p[threadIdx.x] = 3; }
K bar_half(u32 *p, u32 n) { if (threadIdx.x & 1) asm volatile("bar.sync 0;"); else asm volatile("bar.sync 1;"); p[threadIdx.x] = 3; }
K spin(u32 *p, u32 n) { while (((volatile u32 *)p)[1] != 77); }
