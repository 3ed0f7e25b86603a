// Naive, compensated and pairwise sums in float, and an exact dot product by two-products.
extern "C" __global__ void kahan_sums(const float *x, int n, float *out)
{
    const float *row = x + threadIdx.x * n;
    float naive = 0, sum = 0, c = 0, high = 0, low = 0;
    for (int i = 0; i < n; ++i) {
        naive = __fadd_rn(naive, row[i]);
        float y = __fsub_rn(row[i], c), t = __fadd_rn(sum, y);
        c = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
        float p = __fmul_rn(row[i], row[n - 1 - i]), e = __fmaf_rn(row[i], row[n - 1 - i], -p);
        float s = __fadd_rn(high, p), z = __fsub_rn(s, high);
        low = __fadd_rn(low, __fadd_rn(__fadd_rn(__fsub_rn(high, __fsub_rn(s, z)), __fsub_rn(p, z)), e));
        high = s;
    }
    float4 *o = (float4 *)out;
    o[threadIdx.x] = make_float4(naive, sum, high, low);
}
