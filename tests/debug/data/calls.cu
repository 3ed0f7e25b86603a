__device__ __noinline__ int leaf(int a, int b) { int r = a; for (int i = 0; i < b; i++) r = r * 3 + (r >> 2) + i; return r; }
__device__ __noinline__ int mid(int a, int b, int *p) {
  int x = p[a & 7], y = p[b & 7], z = p[(a + b) & 7];
  int l1 = leaf(x, a); int l2 = leaf(y, b);
  if (a & 1) l2 += leaf(z, a + b); else l1 += x;
  __syncthreads();
  return l1 * x + l2 * y + z;
}
__device__ __noinline__ int rec(int n, int *p) { if (n <= 0) return p[0]; int k = p[n & 7]; return rec(n - 1, p) * k + n; }
typedef int (*fp)(int, int);
__device__ fp table[2] = {leaf, leaf};
__device__ __noinline__ int ind(int a, int b, int *p) { int x = p[a & 7], y = p[b & 7]; int r = table[a & 1](x, b); return r + x * y + a; }
__device__ __noinline__ double divide(double a, double b, int *p) { double q = p[3]; double r = a / b; return r * q + b; }
extern "C" __global__ void k(int *out, int *p, int n) {
  int t = threadIdx.x; int a = p[t & 7], b = p[(t + 1) & 7], c = p[(t + 2) & 7];
  int s = mid(t, n, p);
  int r = rec(t & 3, p);
  int q = ind(t, n, p);
  double d = divide(a + 0.5, b + 1.5, p);
  out[t] = s + a * r + b * q + c * (int)d + a + b + c;
}
