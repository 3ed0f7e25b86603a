// Intrinsics and inline PTX on integers that overflow, saturate, average, pick bytes.
typedef unsigned long long u64;
extern "C" __global__ void integer_intrinsics(const unsigned *a, const unsigned *b, unsigned *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (t >= n) return;
    unsigned x = a[t], y = b[t], r;
    int s = x, u = y;
#define PUT(v) out[k++ * n + t] = (unsigned)(v)
    PUT(__mulhi(s, u));
    PUT(__umulhi(x, y));
    PUT(__mul24(s, u));
    PUT(__umul24(x, y));
    PUT(__sad(s, u, 77u));
    PUT(__usad(x, y, 0xfffffff0u));
    PUT(__hadd(s, u));
    PUT(__rhadd(s, u));
    PUT(__uhadd(x, y));
    PUT(__urhadd(x, y));
    asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y)); PUT(r);
    asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y)); PUT(r);
    asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(0x7ffffff0)); PUT(r);
    asm("mul24.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y)); PUT(r);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(x)); PUT(r);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y & 63), "r"(y >> 8 & 63)); PUT(r);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(y), "r"(y & 63), "r"(y >> 8 & 63)); PUT(r);
    asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(x & 63)); PUT(r);
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(x & 63)); PUT(r);
    asm("lop3.b32 %0, %1, %2, %3, 0x6d;" : "=r"(r) : "r"(x), "r"(y), "r"(x * 5)); PUT(r);
    asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(y)); PUT(r);
    asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(y)); PUT(r);
    PUT(__byte_perm(x, y, x >> 3));
    PUT(__popc(x) | __clz(y) << 8 | __ffs(x & y) << 16);
    PUT(__brev(x));
    unsigned gray = x ^ x >> 1, back = gray;
    for (int i = 1; i < 32; i <<= 1) back ^= back >> i;
    PUT(back == x ? gray : 0);
    PUT(x << (y & 31) | x >> (-y & 31));
    u64 w = (u64)x << 32 | y;
    PUT(__clzll(w) | __ffsll(w >> 5) << 8 | __popcll(w) << 16);
    PUT(__brevll(w) >> 13);
    PUT(__umul64hi(w, w * 3 + 1) >> 11);
    PUT(__mul64hi(w, ~w) >> 9);
    PUT((w >> (y & 63)) ^ (w << (x & 63)) ^ (u64)((long long)w >> (x >> 8 & 63)));
}
