// Points in the quarter circle: a shared counter per block, one 64-bit atomic per block.
extern "C" __global__ void monte_carlo_pi(int rounds, unsigned long long *inside)
{
    __shared__ unsigned hits;
    if (threadIdx.x == 0) hits = 0;
    __syncthreads();
    unsigned s = (blockIdx.x * blockDim.x + threadIdx.x) * 2891336453u + 1;
    unsigned mine = 0;
    for (int i = 0; i < rounds; ++i) {
        s = s * 1664525u + 1013904223u;
        float x = (s >> 8) * 0x1p-24f;
        s = s * 1664525u + 1013904223u;
        float y = (s >> 8) * 0x1p-24f;
        if (x * x + y * y < 1.0f) ++mine;
    }
    for (int d = 16; d; d >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, d);
    if (threadIdx.x % 32 == 0) atomicAdd(&hits, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(inside, (unsigned long long)hits);
}
