__device__ __forceinline__ int clampi(int v, int lo, int hi)
{
    int r = v < lo ? lo : v;
    r = r > hi ? hi : r;
    return r;
}
__device__ __forceinline__ int bits(unsigned v)
{
    int n = 0;
    while (v) {
        v &= v - 1;
        n++;
    }
    return n;
}
__device__ __noinline__ int walk(int start, int steps)
{
    int at = start;
    for (int s = 0; s < steps; s++) {
        at = clampi(at * 2 - s, 0, 50);
        if (bits(at) > 2)
            at = clampi(at - 7, 1, 20);
    }
    return at;
}
extern "C" __global__ void lost_ends(int *in, int *out)
{
    out[threadIdx.x] = walk(threadIdx.x, 3);
}
