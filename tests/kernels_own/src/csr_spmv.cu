// Sparse matrix times vector in CSR form: short rows by a thread, long ones by a warp.
extern "C" __global__ void csr_spmv(const int *start, const int *column, const long long *value,
                                    const int *x, long long *y, int rows)
{
    int lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x >> 5;
    for (int base = (blockIdx.x * blockDim.x + threadIdx.x >> 5) * 32; base < rows;
         base += warps * 32) {
        int row = base + lane, from = 0, to = 0;
        if (row < rows) from = start[row], to = start[row + 1];
        bool big = to - from > 8;
        if (!big) {
            long long sum = 0;
            for (int i = from; i < to; ++i) sum += value[i] * x[column[i]];
            if (row < rows) y[row] = sum;
        }
        for (unsigned todo = __ballot_sync(0xffffffffu, big); todo; todo &= todo - 1) {
            int owner = __ffs(todo) - 1;
            int a = __shfl_sync(0xffffffffu, from, owner), b = __shfl_sync(0xffffffffu, to, owner);
            long long sum = 0;
            for (int i = a + lane; i < b; i += 32) sum += value[i] * x[column[i]];
            for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
            if (lane == owner) y[row] = sum;
        }
    }
}
