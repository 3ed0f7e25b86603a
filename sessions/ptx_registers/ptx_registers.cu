// What a thread can ask about itself: one row of `out` for each thread.
#define READ(to, name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(to))

extern "C" __global__ void whoami(unsigned *out)
{
    unsigned me = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned tid, lane, warp, sm, below, clock;
    READ(tid, "tid.x");
    READ(lane, "laneid");
    READ(warp, "warpid");
    READ(sm, "smid");
    READ(below, "lanemask_lt");
    READ(clock, "clock");
    unsigned *row = out + 6 * me;
    row[0] = tid;
    row[1] = lane;
    row[2] = warp;
    row[3] = sm;
    row[4] = below;
    row[5] = clock;
}
