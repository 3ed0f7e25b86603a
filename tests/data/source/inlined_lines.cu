//! {"kernel":"inlined_lines","block":[32],"args":[["buf","i32",64,"iota"],["buf","i32",64,"zero"]]}
__device__ __forceinline__ int sq(int v)
{
    int s = v * v;
    return s;
}
__device__ __forceinline__ int poly(int v, int k)
{
    int a = sq(v);
    int b = sq(k);
    if (a > b) {
        int d = a - b;
        a += d;
        b -= d;
    }
    int c = a * 2 + b;
    return c;
}
struct P { int x, y; __device__ __forceinline__ P plus(const P &o) const { P r = {x + o.x, y + o.y};
        return r; }
    __device__ __forceinline__ int norm() const
    {
        int n = sq(x);
        n += sq(y);
        return n;
    }
};
__device__ __noinline__ int outer(int v)
{
    int total = 0;
    for (int k = 1; k < 3; k++) {
        total += poly(v, k);
        total -= k;
    }
    return total;
}
template <class F> __device__ __forceinline__ int twice(F f, int v)
{
    int r = f(v);
    r = f(r);
    return r;
}
extern "C" __global__ void inlined_lines(int *in, int *out)
{
    int i = threadIdx.x;
    int a = outer(i);
    int b = poly(i, 2);
    P p = {i, 3}, q = {in[i], -1};
    P r = p.plus(q);
    int n = r.norm();
    int step = 3;
    int t = twice([step](int v) { int w = v + step;
        return w; }, i);
    in[i] = sq(in[i]);
    out[i] = a + b + n;
    out[i + 32] = t + r.x;
}
