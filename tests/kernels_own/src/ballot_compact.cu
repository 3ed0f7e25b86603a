// Stable compaction over several blocks: each block takes its place in the output in turn from
// the counts an earlier launch wrote.
__device__ bool keep(unsigned x) { return (x * 2654435761u >> 28) % 3 == 1; }

extern "C" __global__ void count_kept(const unsigned *in, int n, unsigned *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = __syncthreads_count(i < n && keep(in[i]));
    if (threadIdx.x == 0) counts[blockIdx.x] = c;
}

extern "C" __global__ void ballot_compact(
    const unsigned *in, int n, const unsigned *counts, unsigned *out)
{
    extern __shared__ unsigned warp_base[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    unsigned base = 0;
    for (int b = 0; b < blockIdx.x; ++b) base += counts[b];
    bool k = i < n && keep(in[i]);
    unsigned votes = __ballot_sync(0xffffffffu, k);
    if (lane == 0) warp_base[threadIdx.x >> 5] = __popc(votes);
    __syncthreads();
    for (int w = 0; w < threadIdx.x >> 5; ++w) base += warp_base[w];
    if (k) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}
