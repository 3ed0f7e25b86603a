// Waits as the C++ library of CUDA writes them: polls with a back-off by the global timer.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/chrono>

using barrier = cuda::barrier<cuda::thread_scope_block>;

static __device__ barrier &made(int more)
{
    __shared__ __align__(8) char raw[sizeof(barrier)];
    barrier &b = *reinterpret_cast<barrier *>(raw);
    if (threadIdx.x == 0)
        init(&b, blockDim.x + more);
    __syncthreads();
    return b;
}
// One thread too many is asked for.
extern "C" __global__ void never(int *out)
{
    made(1).arrive_and_wait();
    out[threadIdx.x] = 1;
}
// Only some lanes wait; the others wait for these.
extern "C" __global__ void some(int *out)
{
    barrier &b = made(0);
    if (threadIdx.x % 32 < 16)
        b.arrive_and_wait();
    __syncthreads();
    out[threadIdx.x] = 1;
}
extern "C" __global__ void meets(int *out)
{
    made(0).arrive_and_wait();
    out[threadIdx.x] = 1;
}
// The thread that completes the phase comes late.
extern "C" __global__ void late(int *out)
{
    barrier &b = made(0);
    if (threadIdx.x == 0)
        for (int n = 0; n < 3000; n++)
            reinterpret_cast<volatile int *>(out)[0] = n;
    b.arrive_and_wait();
    out[threadIdx.x] = 1;
}
// A wait that gives up after some time.
extern "C" __global__ void gives_up(int *out)
{
    barrier &b = made(1);
    auto token = b.arrive();
    out[threadIdx.x] = b.try_wait_for(
        static_cast<barrier::arrival_token &&>(token), cuda::std::chrono::microseconds(20));
}
extern "C" __global__ void flag(int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[0]).wait(0);
    out[1] = 1;
}
