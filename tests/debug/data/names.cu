namespace a {
__device__ __noinline__ int f(int x) { return x * 3; }
}  // namespace a
namespace b {
__device__ __noinline__ int f(int x) { return x + 7; }
__device__ __noinline__ int f(float x) { return (int)(x * x); }
}  // namespace b
extern "C" __global__ void names(int *out, float z) {
    int n = threadIdx.x;
    out[n] = a::f(n) + b::f(n) + b::f(z);
}
