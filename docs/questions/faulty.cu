// A histogram with weights. It is faulty on purpose: questions.md asks about it.
#define BINS 16

extern "C" __global__ void histogram(const int *in, unsigned *bins, float *share, int n)
{
    __shared__ unsigned local[BINS];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (t < BINS)
        local[t] = 0;
    __syncthreads();
    if (i < n) {
        int v = in[i];
        if (v < 0)
            v = -v + 3;
        atomicAdd(&local[v / 8], 1u);
    }
    __syncthreads();
    if (t < BINS)
        atomicAdd(&bins[t], local[t]);
    if (i < n)
        share[i] = 100.0f / in[i];
}
