// Producers and consumers over named barriers with counts, and reductions at barriers.
#define SYNC(id, n) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory")
#define ARRIVE(id, n) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory")

extern "C" __global__ void named_barriers(const int *in, int *out, int rounds)
{
    __shared__ volatile int slot[2][32];
    int t = threadIdx.x, warp = t >> 5, lane = t & 31;
    if (warp == 0) {
        for (int i = 0; i < rounds; ++i) {
            SYNC(1 + (i & 1), 64);
            slot[i & 1][lane] = in[i * 32 + lane] * 2 + 1;
            __threadfence_block();
            ARRIVE(3 + (i & 1), 64);
        }
    } else if (warp == 1) {
        ARRIVE(1, 64);
        ARRIVE(2, 64);
        for (int i = 0; i < rounds; ++i) {
            SYNC(3 + (i & 1), 64);
            out[i * 32 + lane] = slot[i & 1][lane ^ 31];
            if (i + 2 < rounds) ARRIVE(1 + (i & 1), 64);
        }
    }
    int odd = in[t] & 1, pop, all, any;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %3, 0;\n"
                 "bar.red.popc.u32 %0, 5, 96, p;\n"
                 "bar.red.and.pred q, 6, 96, p; selp.s32 %1, 1, 0, q;\n"
                 "bar.red.or.pred q, 7, 96, !p; selp.s32 %2, 1, 0, q; }"
                 : "=r"(pop), "=r"(all), "=r"(any) : "r"(odd));
    out[rounds * 32 + t] = pop * 4 + all * 2 + any;
}
