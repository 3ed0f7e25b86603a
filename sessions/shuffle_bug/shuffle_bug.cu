// A warp adds its first n numbers with shuffles. Lanes from n on are kept out of the loop,
// "because they have nothing to add" - and the others still read from them.
extern "C" __global__ void warp_sum(const int *in, int *out, int n)
{
    int lane = threadIdx.x;
    int v = in[lane];
    if (lane < n) {
        for (int d = 16; d > 0; d >>= 1)
            v += __shfl_down_sync(0xffffffff, v, d);
    }
    out[lane] = v;                    // out[0] is the sum
}
