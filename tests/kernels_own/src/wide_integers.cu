// 128-bit integers: products, quotients, shifts, comparisons, conversions.
typedef unsigned __int128 u128;
typedef __int128 i128;
typedef unsigned long long u64;

__device__ u128 load(const u64 *p) { return (u128)p[1] << 64 | p[0]; }
__device__ void store(u64 *p, u128 v)
{
    p[0] = (u64)v;
    p[1] = (u64)(v >> 64);
}

extern "C" __global__ void wide_integers(const u64 *a, const u64 *b, u64 *out, int n)
{
    int t = threadIdx.x;
    u128 x = load(a + 2 * t), y = load(b + 2 * t);
    i128 s = (i128)x, z = (i128)y;
    u64 *o = out + 16 * t;
    store(o, x * y + (x ^ y));
    store(o + 2, x / y);
    store(o + 4, (u128)(s % z));
    store(o + 6, x << (int)(y & 127));
    store(o + 8, (u128)(s >> (int)(y >> 7 & 127)));
    store(o + 10, -x - (x > y ? y : 1));
    store(o + 12, (u128)(i128)((double)(long long)(s >> 70) * 1.5));
    o[14] = (s < z) | (x < y) << 1 | (x == y) << 2 | (u64)(unsigned)(x % 1000003) << 8;
    o[15] = (u64)__double_as_longlong((double)(u64)(x >> 40));
}
