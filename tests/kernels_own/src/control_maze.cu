// Nested loops left by break, continue, goto and return from lanes that part at every turn.
__device__ __noinline__ int search(const int *grid, int w, int start, int *visited)
{
    int at = start, steps = 0;
    for (int outer = 0; outer < 9; ++outer) {
        for (int i = 0;; ++i) {
            int v = grid[at & w - 1];
            ++*visited;
            if (v < 0) return steps;
            if (i > 6) break;
            if (v % 5 == 0) {
                at += v + 1;
                continue;
            }
            while (v & 1) {
                v >>= 1;
                if (v == 13) goto out;
                if (++steps > 60) goto far;
            }
            do {
                v -= 3;
                at ^= v;
                if ((at & 7) == 3) break;
                ++steps;
            } while (v > 20);
            if (at & 8) continue;
            at += i;
        }
        switch (at & 3) {
        case 0: continue;
        case 1: at += 5;  // falls through
        case 2: at *= 3; break;
        default:
            if (steps & 1) goto out;
        }
        ++at;
    }
far:
    steps += 1000;
out:
    return steps * 2 + (at & 1);
}

extern "C" __global__ void control_maze(const int *grid, int w, int *out, int *visited)
{
    int t = threadIdx.x, n = 0;
    if (t == 17) return;
    int r = search(grid, w, t * 7, &n);
    if (r > 500 && t & 1) {
        visited[t] = -n;
        return;
    }
    out[t] = r;
    visited[t] = n;
}
