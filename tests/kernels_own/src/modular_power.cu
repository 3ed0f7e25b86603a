// Powers modulo 64-bit odd numbers by Montgomery products, modulo 32-bit ones by division, and
// Miller-Rabin on top.
typedef unsigned long long u64;

__device__ u64 redc(u64 high, u64 low, u64 m, u64 inverse)
{
    u64 q = low * inverse, t = __umul64hi(q, m);
    return high >= t ? high - t : high - t + m;
}
__device__ u64 product(u64 a, u64 b, u64 m, u64 inverse) { return redc(__umul64hi(a, b), a * b, m, inverse); }

__device__ u64 power(u64 base, u64 e, u64 m)
{
    u64 inverse = m;
    for (int i = 0; i < 5; ++i) inverse *= 2 - m * inverse;
    u64 one = -m % m, b = base % m;
    for (int i = 0; i < 64; ++i) {
        b = b >= m - b ? b - (m - b) : b + b;
    }
    u64 r = one;
    for (; e; e >>= 1) {
        if (e & 1) r = product(r, b, m, inverse);
        b = product(b, b, m, inverse);
    }
    return redc(0, r, m, inverse);
}

extern "C" __global__ void modular_power(const u64 *base, const u64 *e, const u64 *m, u64 *out,
                                         unsigned char *prime)
{
    int t = threadIdx.x;
    u64 n = m[t];
    out[t] = power(base[t], e[t], n);
    int s = __ffsll(n - 1) - 1;
    bool composite = false;
    for (int a = 2; a <= 3 && !composite; ++a) {
        u64 x = power(a, (n - 1) >> s, n);
        if (x == 1 || x == n - 1) continue;
        composite = true;
        for (int i = 1; i < s; ++i) {
            unsigned low = (unsigned)n;
            x = n >> 32 ? power(x, 2, n) : (u64)(unsigned)x * (unsigned)x % low;
            if (x == n - 1) {
                composite = false;
                break;
            }
        }
    }
    prime[t] = !composite;
}
