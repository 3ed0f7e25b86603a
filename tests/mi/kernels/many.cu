// 64 blocks of two warps: a line that every warp reaches, one that some do, one behind a barrier.
extern "C" __global__ void many(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = 0;
    for (int k = 0; k <= blockIdx.x % 5; k++)
        v += in[(i + k) % n];
    out[i] = v;
    if (threadIdx.x >= 32)
        out[i] = v + 1;
    __syncthreads();
    out[i] = out[blockIdx.x * blockDim.x + (threadIdx.x ^ 32)] + v;
}
