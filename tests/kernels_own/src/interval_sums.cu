// Interval arithmetic: every rounding mode of float and double sums, products, quotients, roots.
extern "C" __global__ void interval_sums(const float *a, const float *b, float *f, double *d, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (t >= n) return;
    float x = a[t], y = b[t];
    double p = (double)x * 1.1, q = (double)y + 1e-9;
#define ALL(m)                                                                        \
    f[k * n + t] = __fadd_##m(x, y); d[k++ * n + t] = __dadd_##m(p, q);               \
    f[k * n + t] = __fmul_##m(x, y); d[k++ * n + t] = __dmul_##m(p, q);               \
    f[k * n + t] = __fdiv_##m(x, y); d[k++ * n + t] = __ddiv_##m(p, q);               \
    f[k * n + t] = __fsqrt_##m(fabsf(x)); d[k++ * n + t] = __dsqrt_##m(fabs(p));      \
    f[k * n + t] = __fmaf_##m(x, y, y); d[k++ * n + t] = __fma_##m(p, q, p);          \
    f[k * n + t] = __double2float_##m(p); d[k++ * n + t] = __ll2double_##m(__double_as_longlong(q)); \
    f[k * n + t] = __ll2float_##m(__double_as_longlong(p)); d[k++ * n + t] = (double)__double2ll_##m(p * 1e6);
    ALL(rn) ALL(rz) ALL(ru) ALL(rd)
}
