// Block maximum: every block finds the largest of its 64 numbers.
// A number's digit sum is added first, one digit per turn: threads leave that loop at
// different times, so the warp diverges and comes together again.
extern "C" __global__ void block_max(const int *in, int *out, int n)
{
    __shared__ int best[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = 0;

    if (i < n) {
        v = in[i];
        for (int rest = v; rest != 0; rest /= 10)   // 1 to 4 turns, by thread
            v += rest % 10;
    }

    best[threadIdx.x] = v;
    __syncthreads();
    for (int step = 32; step > 0; step >>= 1) {
        if (threadIdx.x < step && best[threadIdx.x + step] > best[threadIdx.x])
            best[threadIdx.x] = best[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = best[0];
}
