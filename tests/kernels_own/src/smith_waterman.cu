// Local alignment with affine gaps: lanes are rows of a 32-row stripe, values travel by shuffles,
// stripes meet in a buffer in global memory.
extern "C" __global__ void smith_waterman(const char *query, int n, const char *target, int m,
                                          short2 *border, int *best)
{
    int lane = threadIdx.x, score = 0;
    for (int base = 0; base < n; base += 32) {
        bool active_row = base + lane < n;
        char q = active_row ? query[base + lane] : 0;
        int h = 0, diagonal = 0, e = -1000, f_out = -1000;
        for (int step = 0; step < m + 31; ++step) {
            int j = step - lane;
            int up = __shfl_up_sync(0xffffffffu, h, 1), f = __shfl_up_sync(0xffffffffu, f_out, 1);
            if (lane == 0) {
                up = 0;
                f = -1000;
                if (base && j < m) {
                    short2 b = border[j];
                    up = b.x;
                    f = b.y;
                }
            }
            if (j >= 0 && j < m && active_row) {
                f = max(f - 1, up - 3);
                e = max(e - 1, h - 3);
                int match = diagonal + (q == target[j] ? 4 : -2);
                h = max(max(match, 0), max(e, f));
                f_out = f;
                score = max(score, h);
                diagonal = up;
                if (lane == 31) border[j] = make_short2(h, f);
            }
        }
        __syncwarp();
    }
    for (int d = 16; d; d /= 2) score = max(score, __shfl_xor_sync(0xffffffffu, score, d));
    if (lane == 0) *best = score;
}
