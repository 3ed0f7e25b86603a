// N queens by backtracking on a local stack; each thread owns a pair of first rows.
extern "C" __global__ void n_queens(int n, unsigned *solutions)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n * n) return;
    unsigned full = (1u << n) - 1;
    unsigned a = 1u << t / n, b = 1u << t % n;
    unsigned taken = a, left = a << 1, right = a >> 1, found = 0;
    if (!(b & (taken | left | right))) {
        unsigned stack[12][4];
        int depth = 0;
        taken |= b;
        left = (left | b) << 1;
        right = (right | b) >> 1;
        unsigned open = full & ~(taken | left | right);
        for (;;) {
            if (taken == full) ++found;
            if (open) {
                unsigned bit = open & -open;
                open ^= bit;
                stack[depth][0] = taken;
                stack[depth][1] = left;
                stack[depth][2] = right;
                stack[depth++][3] = open;
                taken |= bit;
                left = (left | bit) << 1;
                right = (right | bit) >> 1;
                open = full & ~(taken | left | right);
                continue;
            }
            if (!depth) break;
            --depth;
            taken = stack[depth][0];
            left = stack[depth][1];
            right = stack[depth][2];
            open = stack[depth][3];
        }
    }
    if (found) atomicAdd(solutions, found);
}
