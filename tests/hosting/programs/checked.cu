// Launches for `exec --check`: one that prints, and with an argument one that races.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void say(int n)
{
    printf("block %d says %d\n", blockIdx.x, n);
}

__global__ void race(int *p)
{
    p[0] = threadIdx.x;
}

int main(int count, char **words)
{
    int *p;
    cudaMalloc(&p, 64);
    say<<<2, 1>>>(3);
    if (count > 1)
        race<<<2, 64>>>(p);
    cudaDeviceSynchronize();
    return count > 2 ? atoi(words[2]) : 0;
}
