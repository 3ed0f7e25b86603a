// Atomics that begin with sm_60: doubles, and scopes of a block and of the system.
typedef unsigned long long u64;
extern "C" __global__ void atomics_pascal(const double *x, double *sums, unsigned *w, u64 *d)
{
    __shared__ double s;
    __shared__ unsigned u;
    int t = threadIdx.x;
    if (t == 0) s = 0.5, u = 3;
    __syncthreads();
    atomicAdd(&s, x[t]);
    double old = atomicAdd(sums, x[t]);
    atomicAdd_system(sums + 1, old > -1e9 ? 1.0 : 0.0);
    atomicAdd_block(&u, t);
    atomicMax_block((int *)w, t * 3 - 50);
    atomicXor_system(w + 1, 1u << (t & 31));
    atomicInc_block(w + 2, 9);
    atomicCAS_system(d, 5ull, 1000ull);
    atomicMin_system((long long *)d + 1, (long long)t - 20);
    atomicExch_block(d + 2, 77ull);
    atomicAnd_block(w + 3, ~(1u << (t & 31)));
    __syncthreads();
    if (t == 0) sums[2] = s, w[4] = u;
}
