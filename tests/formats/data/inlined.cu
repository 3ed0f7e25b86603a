__device__ __forceinline__ float leaf(float a) {
    return a * a + 1.0f;
}
__device__ __forceinline__ float mid(float a, float b) {
    float t = leaf(a);
    return t - leaf(b);
}
extern "C" __global__ void inl(float *o, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        o[i] = mid(x[i], x[i + 1])
             + leaf(x[i + 2]);
    }
}
__device__ __noinline__ float far(float a) { return leaf(a) / 3.0f; }
extern "C" __global__ void inl2(float *o, const float *x, int n) {
    o[n] = mid(x[n], x[n + 1]) + leaf(x[n + 2]) + far(x[n + 3]);
}
