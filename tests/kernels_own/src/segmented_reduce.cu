// Sums of segments marked by head flags: a segmented inclusive scan inside each warp by shuffles,
// carries between warps through shared memory.
extern "C" __global__ void segmented_reduce(
    const int *x, const unsigned char *head, int *scan, int n)
{
    __shared__ int sum[8];
    __shared__ bool open[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int v = t < n ? x[t] : 0;
    bool f = t < n ? head[t] != 0 : true;
    unsigned heads = __ballot_sync(0xffffffffu, f);
    unsigned below = heads & (0xffffffffu >> (31 - lane));
    int start = below ? 31 - __clz(below) : 0;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(0xffffffffu, v, d);
        if (lane - d >= start) v += other;
    }
    if (lane == 31) {
        sum[warp] = v;
        open[warp] = heads == 0;
    }
    __syncthreads();
    int carry = 0;
    for (int w = warp - 1; w >= 0 && below == 0; --w) {
        carry += sum[w];
        if (!open[w]) break;
    }
    if (t < n) scan[t] = v + carry;
}
