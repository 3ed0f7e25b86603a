// LU decomposition with partial pivoting of a matrix of doubles in shared memory, one warp; the
// pivot is found by a shuffle reduction on bit patterns.
extern "C" __global__ void lu_pivot(double *matrix, int *rows, int n)
{
    extern __shared__ double a[];
    int t = threadIdx.x;
    int row = t;
    for (int i = 0; i < n; ++i)
        if (t < n) a[i * n + t] = matrix[i * n + t];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        double best = t >= k && t < n ? fabs(a[t * n + k]) : -1.0;
        int where = t;
        for (int d = 16; d; d >>= 1) {
            double other = __shfl_xor_sync(0xffffffffu, best, d);
            int at = __shfl_xor_sync(0xffffffffu, where, d);
            if (other > best || (other == best && at < where)) best = other, where = at;
        }
        if (where != k) {
            int mine = __shfl_sync(0xffffffffu, row, k), theirs = __shfl_sync(0xffffffffu, row, where);
            if (t == k) row = theirs;
            if (t == where) row = mine;
            if (t < n) {
                double x = a[k * n + t];
                a[k * n + t] = a[where * n + t];
                a[where * n + t] = x;
            }
        }
        __syncthreads();
        double f = 0;
        if (t > k && t < n) f = a[t * n + k] = __ddiv_rn(a[t * n + k], a[k * n + k]);
        for (int j = k + 1; j < n; ++j)
            if (t > k && t < n) a[t * n + j] = __fma_rn(-f, a[k * n + j], a[t * n + j]);
        __syncthreads();
    }
    for (int i = 0; i < n; ++i)
        if (t < n) matrix[i * n + t] = a[i * n + t];
    if (t < n) rows[t] = row;
}
