// 256 by 256 bit products by rows of carry chains, and 512-bit differences with borrow.
extern "C" __global__ void bigint_multiply(const unsigned *a, const unsigned *b, unsigned *p, unsigned *d)
{
    int t = threadIdx.x;
    unsigned x[8], y[8], r[16];
    for (int i = 0; i < 8; ++i) {
        x[i] = a[8 * t + i];
        y[i] = b[8 * t + i];
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) r[i] = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        asm("mad.lo.cc.u32 %0, %1, %2, %0;" : "+r"(r[i]) : "r"(x[0]), "r"(y[i]));
#pragma unroll
        for (int j = 1; j < 8; ++j)
            asm volatile("madc.lo.cc.u32 %0, %1, %2, %0;" : "+r"(r[i + j]) : "r"(x[j]), "r"(y[i]));
        asm volatile("addc.u32 %0, %0, 0;" : "+r"(r[i + 8]));
        asm volatile("mad.hi.cc.u32 %0, %1, %2, %0;" : "+r"(r[i + 1]) : "r"(x[0]), "r"(y[i]));
#pragma unroll
        for (int j = 1; j < 7; ++j)
            asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(r[i + j + 1]) : "r"(x[j]), "r"(y[i]));
        asm volatile("madc.hi.u32 %0, %1, %2, %0;" : "+r"(r[i + 8]) : "r"(x[7]), "r"(y[i]));
    }
    for (int i = 0; i < 16; ++i) p[16 * t + i] = r[i];
    unsigned borrow;
    asm volatile("sub.cc.u32 %0, %0, %1;" : "+r"(r[0]) : "r"(x[0]));
#pragma unroll
    for (int i = 1; i < 16; ++i)
        asm volatile("subc.cc.u32 %0, %0, %1;" : "+r"(r[i]) : "r"(i < 8 ? x[i] : y[i - 8]));
    asm volatile("subc.u32 %0, 0, 0;" : "=r"(borrow));
    for (int i = 0; i < 16; ++i) d[17 * t + i] = r[i];
    d[17 * t + 16] = borrow;
}
