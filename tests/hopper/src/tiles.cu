typedef unsigned u32; typedef unsigned long long u64;
#define SA(p) ((u32)__cvta_generic_to_shared(p))
struct __align__(64) Map { u64 w[16]; };
extern "C" __global__ void tma2d(const __grid_constant__ Map in, const __grid_constant__ Map out, const Map *g, int x, int y) {
  __shared__ __align__(1024) unsigned char s[4096];
  __shared__ u64 bar;
  int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SA(&bar)));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("prefetch.tensormap [%0];" ::"l"(&in));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SA(&bar)), "r"(4096) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(SA(s)), "l"(&in), "r"(x), "r"(y), "r"(SA(&bar)) : "memory");
  }
  __syncthreads();
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W;}" ::"r"(SA(&bar)), "r"(0) : "memory");
  s[t] += 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&out), "r"(x), "r"(y), "r"(SA(s)) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(g), "r"(x), "r"(y), "r"(SA(s)) : "memory");
  }
}
