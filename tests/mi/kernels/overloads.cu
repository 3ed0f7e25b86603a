// Functions that share a name: overloads, instantiations, namespaces, internal linkage; three kernels.
namespace ns { 
__device__ __noinline__ int f(int a) { return a * 3 + (a ^ 5); }
__device__ __noinline__ float f(float a) { return a * 3.0f / (a + 5.0f); }
struct S { int v; __device__ __noinline__ int get(int k) const { return v * k + (v / k); } };
template <typename T, int N> __device__ __noinline__ T g(T a) { T s = 0; for (int i = 0; i < N; i++) s += a / (i + 1); return s; }
}
__device__ __noinline__ int f(int a, int b) { return a / b; }
static __device__ __noinline__ int st(int a, int b) { return a % b; }
namespace { __device__ __noinline__ int anon(int a, int b) { return a % (b+1); } }
template <typename T> __global__ void k(T *out) {
  int i = threadIdx.x;
  ns::S s{i};
  out[i] = (T)(ns::f(i) + f(i, 3) + s.get(7) + st(i, 5) + anon(i, 6)) + (T)ns::f((float)i) + ns::g<T, 4>((T)i) ;
}
template __global__ void k<int>(int *);
template __global__ void k<float>(float *);
extern "C" __global__ void other(int *out) { out[threadIdx.x] = f(threadIdx.x, 9) + ns::g<float, 4>(out[3]); }
