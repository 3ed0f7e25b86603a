// An exponential moving average. FMA=0 is the build whose results were signed off; FMA=1 lets
// the compiler fuse multiply and add, which rounds once instead of twice.
extern "C" __global__ void smooth(const float *in, float *out, int n, float alpha)
{
    int series = threadIdx.x;
    float mean = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; k++) {
        float value = in[k * blockDim.x + series];
#if FMA
        mean = fmaf(alpha, value - mean, mean);
#else
        mean = __fadd_rn(mean, __fmul_rn(alpha, value - mean));
#endif
        out[k * blockDim.x + series] = mean;
    }
}
