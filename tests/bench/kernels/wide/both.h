/* One text for CUDA C++ and OpenCL C: what the two spell differently. */
#ifdef __OPENCL_VERSION__
#define KERNEL kernel void
#define GLOBAL global
#define LOCAL local
#define LX ((int)get_local_id(0))
#define LY ((int)get_local_id(1))
#define BX ((int)get_group_id(0))
#define BY ((int)get_group_id(1))
#define NX ((int)get_local_size(0))
#define IX ((int)get_global_id(0))
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ADD(place, number) atomic_add(place, number)
#define EXP(x) exp(x)
#define SQRT(x) sqrt(x)
#define HALF(p, i) vload_half(i, (global const half *)(p))
#else
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__
#define LX ((int)threadIdx.x)
#define LY ((int)threadIdx.y)
#define BX ((int)blockIdx.x)
#define BY ((int)blockIdx.y)
#define NX ((int)blockDim.x)
#define IX ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define SYNC __syncthreads()
#define ADD(place, number) atomicAdd(place, number)
#define EXP(x) expf(x)
#define SQRT(x) sqrtf(x)
static __device__ float half_at(const unsigned short *p, int i)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(p[i]));
    return f;
}
#define HALF(p, i) half_at(p, i)
#endif
