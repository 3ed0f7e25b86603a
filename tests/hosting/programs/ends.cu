// How processes and contexts end: a fork before the first call, a reset, an assertion that fails.
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void count(int *p)
{
    atomicAdd(p, 1);
}

__global__ void holds(unsigned n)
{
    assert(threadIdx.x < n);
}

static int counted()
{
    int *p, h = 0;
    cudaMalloc(&p, sizeof h);
    cudaMemset(p, 0, sizeof h);
    count<<<2, 32>>>(p);
    cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost);
    return h;
}

int main()
{
    pid_t child = fork();
    int mine = counted(), status;
    if (!child)
        _exit(mine == 64 ? 5 : 1);
    waitpid(child, &status, 0);
    printf("%d %d\n", mine, WEXITSTATUS(status));
    int reset = cudaDeviceReset();
    printf("%d %d\n", reset, counted());
    holds<<<1, 32>>>(31);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
