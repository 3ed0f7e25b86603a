typedef unsigned u32;
typedef unsigned long long u64;
struct __align__(64) Map { u64 w[16]; };
#define DEV static __device__ __forceinline__
DEV u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
DEV void init(u64 *b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sa(b)), "r"(n) : "memory"); }
#if __CUDA_ARCH__ >= 900
DEV void expect(u64 *b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sa(b)), "r"(n) : "memory"); }
DEV void arrive(u64 *b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sa(b)) : "memory"); }
DEV void wait(u64 *b, u32 parity)
{
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W;}" ::"r"(sa(b)), "r"(parity) : "memory");
}
DEV u32 rank() { u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
DEV u32 mapa(u32 a, u32 r) { u32 o; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(o) : "r"(a), "r"(r)); return o; }
DEV void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }
DEV void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
#endif
