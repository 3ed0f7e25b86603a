// Indices and sizes in three dimensions, with odd block shapes: every thread says where it is.
extern "C" __global__ void grid_volume(unsigned *out, int *count)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned size = blockDim.x * blockDim.y * blockDim.z;
    unsigned lane, warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    warp = thread / 32;
    unsigned place = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 |
                     blockIdx.y << 16 | blockIdx.z << 20 | (lane == thread % 32) << 31;
    out[block * size + thread] = place;
    int c = __syncthreads_count(threadIdx.y == blockIdx.z);
    int any = __syncthreads_or(threadIdx.x + threadIdx.z == 5 && blockIdx.y);
    int all = __syncthreads_and(thread < 50 || blockIdx.x);
    if (thread == 0) count[block] = c + 1000 * (any != 0) + 2000 * (all != 0) + 4000 * warp;
}
