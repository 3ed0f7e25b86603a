// Every atomic of CUDA C++ for sm_50, with results used and unused, in global and shared memory.
typedef unsigned long long u64;

template <class P, class Q> __device__ void all(P *w, Q *d, int t, unsigned v, u64 x)
{
    atomicAdd((int *)w + 0, (int)v);
    atomicSub(w + 1, v);
    atomicMin((int *)w + 2, (int)v);
    atomicMax((int *)w + 3, (int)v);
    atomicMin(w + 4, v);
    atomicMax(w + 5, v);
    atomicAnd(w + 6, v | 0xff00ff00u);
    atomicOr(w + 7, v & 0x10101010u << (t & 3));
    atomicXor(w + 8, v);
    atomicInc(w + 9, 20);
    atomicDec(w + 10, 25);
    atomicAdd((float *)w + 11, (float)(v & 15));
    if (t == 5) atomicExch(w + 12, v);
    atomicCAS(w + 13, 0, 77);
    atomicAdd(d + 0, x);
    atomicMin((long long *)d + 1, (long long)x);
    atomicMax((long long *)d + 2, (long long)x);
    atomicMin(d + 3, x);
    atomicMax(d + 4, x);
    atomicAnd(d + 5, x | 0xf0f0f0f0f0f0f0f0ull);
    atomicOr(d + 6, x & 0x8080808080808080ull);
    atomicXor(d + 7, x);
    if (t == 9) atomicExch(d + 8, x);
    atomicCAS(d + 9, 5ull, x | 1);
    // Results: the sum of what was seen does not depend on the order.
    atomicAdd(d + 10, (u64)atomicAdd(w + 14, 1));
    atomicAdd(d + 11, (u64)atomicInc(w + 15, 9));
    atomicAdd(d + 12, atomicAdd(d + 13, 3ull));
}

extern "C" __global__ void atomics_all(const unsigned *v, const u64 *x, unsigned *w, u64 *d,
                                       unsigned *w2, u64 *d2)
{
    __shared__ unsigned sw[16];
    __shared__ u64 sd[14];
    int t = threadIdx.x;
    if (t < 16) sw[t] = w2[t];
    if (t < 14) sd[t] = d2[t];
    __syncthreads();
    all(w, d, t, v[t], x[t]);
    all(sw, sd, t, v[t], x[t]);
    __syncthreads();
    if (t < 16) w2[t] = sw[t];
    if (t < 14) d2[t] = sd[t];
}
