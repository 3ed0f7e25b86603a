// 128-bit addition out of four 32-bit ones: the carry travels in CC.C from one to the next.
extern "C" __global__ void add128(const uint4 *a, const uint4 *b, uint4 *sum)
{
    int i = threadIdx.x;
    uint4 x = a[i], y = b[i], s;
    asm("add.cc.u32  %0, %4, %8;\n\t"
        "addc.cc.u32 %1, %5, %9;\n\t"
        "addc.cc.u32 %2, %6, %10;\n\t"
        "addc.u32    %3, %7, %11;"
        : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
        : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
    sum[i] = s;
}
