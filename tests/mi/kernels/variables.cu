// Module variables of every kind of type; a recursive function whose names are the kernel's, too.
struct Cfg { float scale; int n; float v[3]; };
struct Node { int value; Node *next; };
enum Mode { A, B = 5 };
__constant__ float lut[4] = {1.5f, 2.5f, -1.f, 0.25f};
__device__ int counter = -5;
__device__ unsigned int ucount = 7;
__device__ Cfg cfg = {1.5f, -3, {1, 2, 3}};
__device__ float table[2][3] = {{1,2,3},{4,5,6}};
__device__ double dd = 3.25;
__device__ unsigned char bytes[4] = {1,2,3,200};
__device__ float4 quad = {1,2,3,4};
__device__ Node head = {4, nullptr};
__device__ Mode mode = B;
__device__ float *ptr;
__device__ bool flag = true;
__device__ long long wide = -9;
__device__ char text[6] = "hello";
__device__ int helper(int n) { return n * 2 + counter; }
__device__ __noinline__ int fib(int data, int n) { if (n < 2) return data; return fib(data, n - 1) + fib(data, n - 2); }
extern "C" __global__ void variables(const int *data, int n, float a) {
  __shared__ float tile[32];
  int i = threadIdx.x;
  tile[i] = lut[i & 3] * cfg.scale + cfg.v[1] + table[1][2] + (float)dd + bytes[3] + quad.y + head.value + mode + (flag ? wide : 0) + text[i % 6] + ucount;
  __syncthreads();
  n = n / 2;
  if (ptr) ptr[0] = 1;
  ((float *)data)[i] = tile[31 - i] + helper(i) + fib(data[i], n) + a;
}
