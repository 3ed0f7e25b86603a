#include <cuda_runtime.h>
__device__ int shared_counter;
extern __device__ int elsewhere(int);
__global__ void bump(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = elsewhere(i);
        atomicAdd(&shared_counter, 1);
    }
}
int other(int *p, int n)
{
    int c = 0;
    cudaMemcpyToSymbol(shared_counter, &c, 4);
    bump<<<(n + 127) / 128, 128>>>(p, n);
    cudaMemcpyFromSymbol(&c, shared_counter, 4);
    int last;
    cudaMemcpy(&last, p + n - 1, 4, cudaMemcpyDeviceToHost);
    return c != n || last != 3 * (n - 1);
}
