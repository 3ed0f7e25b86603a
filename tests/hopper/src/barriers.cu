#include "ptx.cuh"
// forms of mbarrier operations; each phase is waited for by every thread
DEV u64 state(u64 *b) { u64 s; asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(s) : "r"(sa(b)) : "memory"); return s; }
DEV void wait_state(u64 *b, u64 s)
{
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.shared::cta.b64 p, [%0], %1; @!p bra W;}" ::"r"(sa(b)), "l"(s) : "memory");
}
extern "C" __global__ void forms(u32 *out)
{
    __shared__ u64 b[4];
    int t = threadIdx.x;
    u32 r = 0;
    if (t < 4)
        init(b + t, t == 1 ? 128 : 64);
    __syncthreads();
    u64 s = state(b);
    u32 pending;
    asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(s));
    wait_state(b, s);
    r += 1;
    asm volatile("{.reg .b64 d; mbarrier.arrive.noComplete.shared::cta.b64 d, [%0], 1;}" ::"r"(sa(b + 1)) : "memory");
    __syncthreads();
    asm volatile("{.reg .b64 d; mbarrier.arrive.shared::cta.b64 d, [%0], 1;}" ::"r"(sa(b + 1)) : "memory");
    wait(b + 1, 0);
    r += 2;
    if (t < 32)     // the first warp leaves: later phases expect the others alone
        asm volatile("{.reg .b64 d; mbarrier.arrive_drop.shared::cta.b64 d, [%0];}" ::"r"(sa(b + 2)) : "memory");
    else
        arrive(b + 2);
    wait(b + 2, 0);
    __syncthreads();
    if (t >= 32)
        arrive(b + 2);
    wait(b + 2, 1);
    r += 4;
    if (t == 0) {
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 640;" ::"r"(sa(b + 3)) : "memory");
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 600;" ::"r"(sa(b + 3)) : "memory");
    }
    arrive(b + 3);
    u32 early;
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(early) : "r"(sa(b + 3)) : "memory");
    r += early << 8;
    __syncthreads();
    if (t == 0)
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 40;" ::"r"(sa(b + 3)) : "memory");
    wait(b + 3, 0);
    if (t == 0)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(sa(b + 3)) : "memory");
    out[t] = r;
    out[64 + t] = pending;
}
// an elected lane, register limits, a barrier of part of the warps
extern "C" __global__ void __launch_bounds__(256, 1) roles(const int *in, int *out)
{
    __shared__ __align__(128) int s[128];
    __shared__ u64 full, empty;
    int t = threadIdx.x, acc = 0;
    if (t == 0) {
        init(&full, 1);
        init(&empty, 128);
    }
    __syncthreads();
    if (t < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t < 32) {
            u32 leader;
            asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(leader));
            if (leader)
                for (int n = 0; n < 4; n++) {
                    wait(&empty, n & 1 ^ 1);
                    expect(&full, 512);
                    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                                 ::"r"(sa(s)), "l"(in + 128 * n), "r"(sa(&full)) : "memory");
                }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        for (int n = 0; n < 4; n++) {
            wait(&full, n & 1);
            acc = acc * 3 + s[(t ^ 5) & 127];
            asm volatile("bar.sync 1, 128;" ::: "memory");
            arrive(&empty);
        }
        out[t - 128] = acc;
    }
}
