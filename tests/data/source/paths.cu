// Lists of places that follow the order of the code: loops, branches that meet, an inlined choice.
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
extern "C" __global__ void paths(const int *in, int *out)
{
    int i = threadIdx.x;
    int sum = 0;
    unsigned prod = 1u;
    for (int j = 0; j < 4; j++) {
        int v = in[(i + j) & 31];
        if (v % 3 == 0) {
            sum += v * 10;
            prod *= 3u;
            continue;
        }
        sum += v;
        for (int k = j; k < 3; ++k) {
            prod += (unsigned)sum + k;
        }
    }
    int base = in[i] * 2;
    int s = each(3, [=](int k) { int m = base + k;
        return m * 2;
    });
    out[i] = sum + (int)prod + s;
    out[i] += clampi(i, 5, 9);
}
