//! {"kernel":"closures","block":[32],"args":[["buf","i32",64,"iota"],["buf","i32",64,"zero"]]}
template <class F> __device__ __forceinline__ int each(int n, F f)
{
    int acc = 0;
    for (int k = 0; k < n; k++) {
        acc += f(k);
    }
    return acc;
}
__device__ __forceinline__ int clampi(int v, int lo, int hi)
{
    int r = v < lo ? lo : v;
    r = r > hi ? hi : r;
    return r;
}
__device__ __forceinline__ int nest(int v)
{
    int a = clampi(v, 2, 20);
    int b = clampi(a * 2, 5, 30);
    return a + b;
}
struct Acc { int total; int n; __device__ __forceinline__ void add(int v) { total += v;
        n++;
    } };
extern "C" __global__ void closures(const int *in, int *out)
{
    int i = threadIdx.x;
    int base = in[i] * 2;
    int s = each(3, [=](int k) { int m = base + k;
        return m * 2;
    });
    int count = 0;
    int z = each(2, [&](int k) {
        count += k + 1;
        return count;
    });
    int c = clampi(i, 5, 9);
    int n = nest(i);
    Acc acc = {i, 0};
    acc.add(4);
    acc.add(c);
    out[i] = s + z + c;
    out[i + 32] = n + acc.total + acc.n + count;
}
