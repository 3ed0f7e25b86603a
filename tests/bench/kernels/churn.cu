extern "C" __global__ void churn(float *x, int n, int rounds)
{
    for (int r = 0; r < rounds; ++r)
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            float v = x[i];
            #pragma unroll
            for (int k = 0; k < 24; ++k) v = v * 1.0001f + 0.25f;
            x[i] = v;
        }
}
