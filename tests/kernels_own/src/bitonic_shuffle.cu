// Bitonic sort of 32 64-bit keys in each warp by shuffles, descending in odd warps.
extern "C" __global__ void bitonic_shuffle(const unsigned long long *in, unsigned long long *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    bool down = t >> 5 & 1;
    unsigned long long v = in[t];
    for (int k = 2; k <= 32; k <<= 1)
        for (int j = k >> 1; j; j >>= 1) {
            unsigned long long o = __shfl_xor_sync(0xffffffffu, v, j);
            bool up = ((lane & k) == 0) != down;
            bool low = (lane & j) == 0;
            if (low == up ? o < v : o > v) v = o;
        }
    out[t] = v;
}
