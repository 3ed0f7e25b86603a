// Lanes and whole warps that end early, some before barriers the others still use.
extern "C" __global__ void early_exits(const int *x, int n, int *out, unsigned *alive)
{
    __shared__ int sum[4];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    if (lane == 0) sum[warp] = 0;
    if (warp == 2) return;
    int v = x[t];
    if (v < 0) {
        out[t] = -1;
        asm volatile("exit;");
    }
    for (int i = 0; i < 5; ++i) {
        if (v % 3 == i) {
            if (lane > 20) {
                out[t] = i + 100;
                return;
            }
            v = v * 2 + 1;
        }
    }
    alive[t] = __activemask();
    atomicAdd(&sum[warp], v);
    __syncthreads();
    if (t >= n) {
        out[t] = 7;
        return;
    }
    __syncthreads();
    out[t] = sum[0] + sum[1] * 2 + sum[3] * 3;
}
