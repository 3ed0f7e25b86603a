// Loops over distinct values in a warp by votes; any, all, uniform conditions, elected lanes.
extern "C" __global__ void vote_loops(const int *x, int *groups, unsigned *peers, int *flags)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int v = x[t], rounds = 0;
    unsigned todo = 0xffffffffu, mine = 0;
    while (todo) {
        int leader = __ffs(todo) - 1;
        int value = __shfl_sync(0xffffffffu, v, leader);
        unsigned same = __ballot_sync(0xffffffffu, v == value);
        if (v == value) {
            mine = same;
            groups[t] = rounds;
        }
        todo &= ~same;
        ++rounds;
    }
    peers[t] = mine;
    int f = 0;
    if (__any_sync(0xffffffffu, v == 3)) f |= 1;
    if (__all_sync(0xffffffffu, v < 9)) f |= 2;
    if (lane < 10) {
        unsigned inner = __ballot_sync(0x3ffu, v & 1);
        f |= inner << 4;
        if (__all_sync(0x3ffu, v >= 0)) f |= 4;
    } else if (lane < 25) {
        f |= __popc(__activemask()) << 16;
        if (__any_sync(0x1fffc00u, v == 7)) f |= 8;
    }
    int uniform;
    asm("{ .reg .pred p, q; setp.gt.s32 p, %1, 2; vote.uni.pred q, p; selp.s32 %0, 1, 0, q; }"
        : "=r"(uniform) : "r"(v));
    flags[t] = f | uniform << 30;
}
