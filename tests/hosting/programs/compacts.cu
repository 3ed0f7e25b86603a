// Stream compaction by warps: lanes that keep their element find its place by a ballot, and lane 0
// is left out of a shuffle whose mask names it. The argument is the number of blocks.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void compact(const int *in, int *out, int *count, int *shifted)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    unsigned kept = __ballot_sync(~0u, in[n] & 1);
    int start = lane == 0 ? atomicAdd(count, __popc(kept)) : 0;
    start = __shfl_sync(~0u, start, 0);
    if (in[n] & 1)
        out[start + __popc(kept & ((1u << lane) - 1))] = in[n];
    if (lane != 0)
        shifted[n] = __shfl_up_sync(~0u, in[n], 1);
    else
        shifted[n] = 0;
}

int main(int count, char **words)
{
    int n = 256 * (count > 1 ? atoi(words[1]) : 2), kept = 0, right = 0;
    int *in, *out, *found, *shifted, *host = new int[n];
    for (int i = 0; i < n; i++)
        host[i] = i;
    cudaMalloc(&in, 4 * n);
    cudaMalloc(&out, 4 * n);
    cudaMalloc(&shifted, 4 * n);
    cudaMalloc(&found, 4);
    cudaMemcpy(in, host, 4 * n, cudaMemcpyHostToDevice);
    cudaMemset(found, 0, 4);
    compact<<<n / 256, 256>>>(in, out, found, shifted);
    cudaMemcpy(&kept, found, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(host, out, 4 * kept, cudaMemcpyDeviceToHost);
    for (int i = 0; i < kept; i++)
        right += host[i] & 1;
    printf("%d of %d kept, %d right\n", kept, n, right);
    return 0;
}
