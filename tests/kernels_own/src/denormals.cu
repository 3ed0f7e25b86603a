// Arithmetic among denormal and nearly denormal floats, with and without flushing.
extern "C" __global__ void denormals(const float *a, const float *b, float *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    float x = a[t], y = b[t], r;
    out[t] = __fadd_rn(x, y);
    out[n + t] = __fmul_rn(x, y);
    out[2 * n + t] = __fdiv_rn(x, y);
    out[3 * n + t] = __fsqrt_rn(fabsf(x));
    out[4 * n + t] = __fmaf_rn(x, y, 0x1p-140f);
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    out[5 * n + t] = r;
    asm("min.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    out[6 * n + t] = r;
    asm("cvt.rn.ftz.f32.f64 %0, %1;" : "=f"(r) : "d"((double)x * 0.25));
    out[7 * n + t] = r;
}

extern "C" __global__ void denormals_f64(const double *a, const double *b, double *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    double x = a[t], y = b[t];
    out[t] = __dadd_rn(x, y);
    out[n + t] = __dmul_rn(x, y);
    out[2 * n + t] = __ddiv_rn(x, y);
    out[3 * n + t] = __dsqrt_rn(fabs(x));
    out[4 * n + t] = (float)x;
}
