// nvcc -rdc=true -arch=sm_90 -cubin: function pointers in an object that nobody has linked.
__device__ int twice(int a) { return a * 2 + 1; }
__device__ int thrice(int a) { return a * 3 + 1; }
typedef int (*Step)(int);
__device__ Step steps[2] = {twice, thrice};
extern "C" __global__ void through_a_table(int *p)
{
    p[threadIdx.x] = steps[threadIdx.x & 1](p[threadIdx.x]);
}
