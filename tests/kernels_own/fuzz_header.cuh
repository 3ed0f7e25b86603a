// What random programs stand on: the same names and meanings on the device and on the host.
typedef unsigned char u8; typedef signed char s8; typedef unsigned short u16; typedef short s16;
typedef unsigned int u32; typedef int s32; typedef unsigned long long u64; typedef long long s64;
typedef float f32; typedef double f64;
#ifdef __CUDACC_RTC__
#define FN __device__
#define NOINLINE __noinline__
#define INLINE __forceinline__
FN u32 as_bits(f32 x) { return x != x ? 0x7fc00000u : __float_as_uint(x); }
FN u64 as_bits(f64 x) { return x != x ? 0x7ff8000000000000ull : (u64)__double_as_longlong(x); }
FN f32 fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
FN f64 fused(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
FN f32 root(f32 x) { return sqrtf(fabsf(x)); }
FN f64 root(f64 x) { return sqrt(fabs(x)); }
FN f32 whole(f32 x, u32 k) { return k % 4 == 0 ? floorf(x) : k % 4 == 1 ? ceilf(x) : k % 4 == 2 ? truncf(x) : rintf(x); }
FN f64 whole(f64 x, u32 k) { return k % 4 == 0 ? floor(x) : k % 4 == 1 ? ceil(x) : k % 4 == 2 ? trunc(x) : rint(x); }
FN u32 popc(u32 x) { return __popc(x); }
FN u32 popc(u64 x) { return __popcll(x); }
FN u32 clz(u32 x) { return __clz(x); }
FN u32 clz(u64 x) { return __clzll(x); }
FN u32 ffs(u32 x) { return __ffs(x); }
FN u32 ffs(u64 x) { return __ffsll(x); }
FN u32 brev(u32 x) { return __brev(x); }
FN u64 brev(u64 x) { return __brevll(x); }
FN u32 mulhi(u32 a, u32 b) { return __umulhi(a, b); }
FN s32 mulhi(s32 a, s32 b) { return __mulhi(a, b); }
FN u64 mulhi(u64 a, u64 b) { return __umul64hi(a, b); }
FN s64 mulhi(s64 a, s64 b) { return __mul64hi(a, b); }
FN u32 funnel(u32 a, u32 b, u32 n) { return __funnelshift_l(a, b, n); }
FN u32 pick(u32 a, u32 b, u32 s) { return __byte_perm(a, b, s); }
FN u32 apart(s32 a, s32 b, u32 c) { return __sad(a, b, c); }
FN void add_to(u32 *p, u32 v) { atomicAdd(p, v); }
FN void add_to(u64 *p, u64 v) { atomicAdd(p, v); }
FN void most(u32 *p, u32 v) { atomicMax(p, v); }
FN void flip(u32 *p, u32 v) { atomicXor(p, v); }
#else
#include <cmath>
#include <cstring>
#define FN static
#define NOINLINE __attribute__((noinline))
#define INLINE
FN u32 as_bits(f32 x) { u32 r; memcpy(&r, &x, 4); return x != x ? 0x7fc00000u : r; }
FN u64 as_bits(f64 x) { u64 r; memcpy(&r, &x, 8); return x != x ? 0x7ff8000000000000ull : r; }
FN f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
FN f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }
FN f32 root(f32 x) { return sqrtf(fabsf(x)); }
FN f64 root(f64 x) { return sqrt(fabs(x)); }
FN f32 whole(f32 x, u32 k) { return k % 4 == 0 ? floorf(x) : k % 4 == 1 ? ceilf(x) : k % 4 == 2 ? truncf(x) : rintf(x); }
FN f64 whole(f64 x, u32 k) { return k % 4 == 0 ? floor(x) : k % 4 == 1 ? ceil(x) : k % 4 == 2 ? trunc(x) : rint(x); }
FN u32 popc(u64 x) { u32 n = 0; for (; x; x &= x - 1) ++n; return n; }
FN u32 popc(u32 x) { return popc((u64)x); }
FN u32 clz(u32 x) { u32 n = 0; for (int i = 31; i >= 0 && !(x >> i & 1); --i) ++n; return n; }
FN u32 clz(u64 x) { u32 n = 0; for (int i = 63; i >= 0 && !(x >> i & 1); --i) ++n; return n; }
FN u32 ffs(u64 x) { for (u32 i = 0; i < 64; ++i) if (x >> i & 1) return i + 1; return 0; }
FN u32 ffs(u32 x) { return ffs((u64)x); }
FN u64 brev(u64 x) { u64 r = 0; for (int i = 0; i < 64; ++i) r |= (x >> i & 1) << (63 - i); return r; }
FN u32 brev(u32 x) { return brev((u64)x) >> 32; }
FN u32 mulhi(u32 a, u32 b) { return (u64)a * b >> 32; }
FN s32 mulhi(s32 a, s32 b) { return (s64)a * b >> 32; }
FN u64 mulhi(u64 a, u64 b) { return (unsigned __int128)a * b >> 64; }
FN s64 mulhi(s64 a, s64 b) { return (__int128)a * b >> 64; }
FN u32 funnel(u32 a, u32 b, u32 n) { return ((u64)b << 32 | a) << (n & 31) >> 32; }
FN u32 pick(u32 a, u32 b, u32 s)
{
    u32 r = 0;
    for (int i = 0; i < 4; ++i) {
        u32 k = s >> 4 * i & 7;
        r |= (((u64)b << 32 | a) >> 8 * k & 255) << 8 * i;
    }
    return r;
}
FN u32 apart(s32 a, s32 b, u32 c) { return (a > b ? (u32)a - (u32)b : (u32)b - (u32)a) + c; }
FN void add_to(u32 *p, u32 v) { *p += v; }
FN void add_to(u64 *p, u64 v) { *p += v; }
FN void most(u32 *p, u32 v) { if (v > *p) *p = v; }
FN void flip(u32 *p, u32 v) { *p ^= v; }
#endif
template <class T> FN T quotient(T a, T b) { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? a : a / b; }
template <class T> FN T rest(T a, T b) { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? a : a % b; }
template <class T> FN T smaller(T a, T b) { return a < b ? a : b; }
template <class T> FN T larger(T a, T b) { return a > b ? a : b; }
template <class T> FN s32 to_int(T x) { return x > (T)-2e9 && x < (T)2e9 ? (s32)x : 77; }
template <class T> FN u64 to_wide(T x) { return x >= 0 && x < (T)1e19 ? (u64)x : 99; }
FN u64 blend(u64 h, u64 v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull; return h ^ h >> 29; }
