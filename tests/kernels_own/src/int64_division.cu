// 64-bit and 32-bit division and remainder, signed and unsigned, at the edges; 8 and 16 bits too.
typedef unsigned long long u64;
typedef long long i64;
extern "C" __global__ void int64_division(const u64 *a, const u64 *b, u64 *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    u64 x = a[t], y = b[t];
    out[t] = x / y;
    out[n + t] = x % y;
    bool over = x == 1ull << 63 && y == ~0ull;
    out[2 * n + t] = over ? 0 : (u64)((i64)x / (i64)y);
    out[3 * n + t] = over ? 0 : (u64)((i64)x % (i64)y);
    unsigned p = x >> 7, q = (unsigned)y | 1;
    out[4 * n + t] = (u64)(p / q) << 32 | p % q;
    int r = (int)p >> 1, s = (int)q;
    out[5 * n + t] = (u64)(unsigned)(r / s) << 32 | (unsigned)(r % s);
    short h = x >> 3, k = (short)(y | 1);
    signed char c = x >> 9, d = (signed char)(y >> 1 | 1);
    out[6 * n + t] = (u64)(unsigned)(h / k) << 32 | (unsigned short)(h % k) << 8 | (unsigned char)(c % d);
    out[7 * n + t] = x / 10 + x % 1000007 * 3 + (u64)((i64)x / -12345678901ll);
}
