// Block matching with SIMD video instructions: sums of absolute differences of four bytes at once.
extern "C" __global__ void motion_search(const unsigned *block, const unsigned *frame, int width,
                                         int *best, unsigned *mixed)
{
    __shared__ int least;
    int t = threadIdx.x, dx = t % 8, dy = t / 8;
    if (t == 0) least = 0x7fffffff;
    __syncthreads();
    int sum = 0;
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 2; ++x) {
            const unsigned *p = frame + (dy + y) * width + (dx >> 2) + x;
            unsigned v = __funnelshift_r(p[0], p[1], dx * 8 & 31);
            asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(sum) : "r"(v), "r"(block[y * 2 + x]));
        }
    atomicMin(&least, sum << 8 | t);
    __syncthreads();
    if (t == 0) *best = least;
    unsigned a = frame[t], b = frame[t + 1], r;
    asm("vadd4.s32.s32.u32.sat %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0)); mixed[5 * t] = r;
    asm("vavrg2.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0)); mixed[5 * t + 1] = r;
    asm("vmax4.s32.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0)); mixed[5 * t + 2] = r;
    asm("vmad.s32.u32.s32.sat %0, %1.h1, %2.h0, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(a)); mixed[5 * t + 3] = r;
    asm("vset4.u32.u32.lt %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0)); mixed[5 * t + 4] = r;
}
