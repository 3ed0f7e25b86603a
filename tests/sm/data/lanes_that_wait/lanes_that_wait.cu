// Lanes of one warp that wait for one another right before a __syncthreads().  Compiled by NVRTC 12.9
// for sm_75, sm_80 and sm_90; -DSEMAPHORE for semaphore.sm_75.cubin, with CCCL's headers.
#ifdef SEMAPHORE
#include <cuda/semaphore>

// The wait goes round its NANOSLEEP until 40 us are over.
extern "C" __global__ void semaphore(int *out, int *words)
{
    typedef cuda::binary_semaphore<cuda::thread_scope_block> Lock;
    __shared__ __align__(16) char place[sizeof(Lock)];
    __shared__ int value;
    Lock &lock = *reinterpret_cast<Lock *>(place);
    if (threadIdx.x == 0) {
        new (&lock) Lock(1);
        value = 0;
    }
    __syncthreads();
    lock.acquire();
    value = value * 3 + 1;
    lock.release();
    __syncthreads();
    out[threadIdx.x] = value;
}
#else
// ptxas places the WARPSYNC of the barrier before the store of the next ticket (sm_70 to sm_89).
extern "C" __global__ void ticket(int *out, int *words)
{
    int mine = atomicAdd(words, 1);
    while (*(volatile int *)(words + 1) != mine)
        ;
    int v = *(volatile int *)(words + 2);
    *(volatile int *)(words + 2) = v * 3 + 1;
    __threadfence();
    *(volatile int *)(words + 1) = mine + 1;
    __syncthreads();
    out[threadIdx.x] = *(volatile int *)(words + 2);
}

// Partly filled warps go round many times.
extern "C" __global__ void around(int *out, int *words)
{
    unsigned v = threadIdx.x;
    for (int i = 0; i < words[0]; i++)
        v = v * 1664525u + (v >> 7) + i;
    out[threadIdx.x] = v;
}
#endif
