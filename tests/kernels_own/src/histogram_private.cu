// Histogram with a copy per warp in shared memory, bytes taken four at a time, merged at the end.
extern "C" __global__ void histogram_private(const unsigned *words, int n, unsigned *bins)
{
    __shared__ unsigned copy[4][256];
    int t = threadIdx.x;
    for (int i = t; i < 4 * 256; i += blockDim.x) (&copy[0][0])[i] = 0;
    __syncthreads();
    unsigned *mine = copy[t >> 5];
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        unsigned w = words[i];
#pragma unroll
        for (int b = 0; b < 4; ++b) atomicAdd(&mine[w >> 8 * b & 255], 1);
    }
    __syncthreads();
    for (int i = t; i < 256; i += blockDim.x) {
        unsigned s = copy[0][i] + copy[1][i] + copy[2][i] + copy[3][i];
        if (s) atomicAdd(&bins[i], s);
    }
}
