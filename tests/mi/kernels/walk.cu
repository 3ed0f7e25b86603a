// Two warps in each of two blocks: a call, an inlined helper in two places, printf, shared memory.
__constant__ int scale = 3;
__device__ int counter = 5;

__device__ __forceinline__ int twice(int x)
{
    int y = x * scale;
    return y + counter;
}

__device__ __noinline__ int digits(int x)
{
    int n = 0;
    while (x > 0) {
        x /= 10;
        n++;
    }
    return n;
}

extern "C" __global__ void walk(const int *in, int *out, int n)
{
    __shared__ int tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? in[i] : 0;
    tile[threadIdx.x] = twice(v);
    __syncthreads();
    int w = digits(tile[threadIdx.x ^ 1]);
    if (i == 1)
        printf("thread %d has %d\n", i, w);
    out[i] = twice(w) + v;
}
