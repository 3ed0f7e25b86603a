// Pointers to shared, local, global and constant memory chosen per lane and passed to functions.
__constant__ int table[32];
__device__ int heap[64];

__device__ __noinline__ int gather(const int *const *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; ++i) s = s * 7 + *p[i];
    return s;
}
__device__ __noinline__ void bump(volatile int *p, int by) { *p = *p + by; }
__device__ __noinline__ int swap(int *p, int v) { return atomicExch(p, v); }

extern "C" __global__ void generic_pointers(int *global, int *out, unsigned *spaces)
{
    __shared__ int shared[32];
    int t = threadIdx.x, local[4] = {t, t + 1, t + 2, t + 3};
    shared[t] = 100 + t;
    heap[t] = 1000 + t;
    __syncthreads();
    int *p;
    switch (t % 4) {
    case 0: p = shared + t; break;
    case 1: p = local + (t & 3); break;
    case 2: p = global + t; break;
    default: p = heap + t;
    }
    bump(p, 5);
    const int *all[4] = {shared + t, local + 1, global + t, table + t};
    int r = gather(all, 4);
    if (t % 4 != 1) r += swap(p, -t) * 3;
    __syncthreads();
    const int *q = t & 1 ? p : &table[31 - t];
    out[t] = r + *q + p[0];
    spaces[t] = __isShared(p) | __isLocal(p) << 1 | __isGlobal(p) << 2 | __isConstant(q) << 3;
}
