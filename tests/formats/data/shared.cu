// Addresses of shared, constant and global variables taken, and an extern shared array.
__constant__ int coef[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int total;
__device__ int *where = &total;
extern __shared__ int dynamic[];
__device__ __noinline__ int pick(const int *p, int i) { return p[i]; }
extern "C" __global__ void shared(int *o, int s) {
    __shared__ int fixed[32];
    fixed[threadIdx.x] = threadIdx.x;
    dynamic[threadIdx.x] = s;
    __syncthreads();
    o[threadIdx.x] = pick(s & 1 ? fixed : dynamic, 3) + pick(coef, s) + *where;
}
