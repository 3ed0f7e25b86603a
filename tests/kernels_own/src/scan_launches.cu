// Inclusive prefix sum of 64-bit numbers over several blocks in three launches: blocks, block
// sums, addition.
#define B 128

__device__ unsigned long long block_scan(unsigned long long x)
{
    __shared__ unsigned long long part[2][B];
    int t = threadIdx.x, from = 0;
    part[0][t] = x;
    __syncthreads();
    for (int d = 1; d < B; d <<= 1) {
        unsigned long long v = part[from][t];
        if (t >= d) v += part[from][t - d];
        from ^= 1;
        part[from][t] = v;
        __syncthreads();
    }
    return part[from][t];
}

extern "C" __global__ void scan_blocks(
    const unsigned long long *in, unsigned long long *out, unsigned long long *sums, int n)
{
    int i = blockIdx.x * B + threadIdx.x;
    unsigned long long s = block_scan(i < n ? in[i] : 0);
    if (i < n) out[i] = s;
    if (threadIdx.x == B - 1) sums[blockIdx.x] = s;
}

extern "C" __global__ void scan_sums(unsigned long long *sums, int n)
{
    int t = threadIdx.x;
    unsigned long long s = block_scan(t < n ? sums[t] : 0);
    if (t < n) sums[t] = s;
}

extern "C" __global__ void add_sums(
    unsigned long long *out, const unsigned long long *sums, int n)
{
    int i = blockIdx.x * B + threadIdx.x;
    if (i < n && blockIdx.x) out[i] += sums[blockIdx.x - 1];
}
