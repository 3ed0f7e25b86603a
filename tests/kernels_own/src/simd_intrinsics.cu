// The SIMD-in-a-word intrinsics of CUDA C++.
extern "C" __global__ void simd_intrinsics(const unsigned *a, const unsigned *b, unsigned *out, int n)
{
    int t = threadIdx.x, k = 0;
    unsigned x = a[t], y = b[t];
#define PUT(v) out[k++ * n + t] = (v);
    PUT(__vadd2(x, y)) PUT(__vadd4(x, y)) PUT(__vsub2(x, y)) PUT(__vsub4(x, y))
    PUT(__vaddss2(x, y)) PUT(__vaddss4(x, y)) PUT(__vaddus2(x, y)) PUT(__vaddus4(x, y))
    PUT(__vsubss2(x, y)) PUT(__vsubss4(x, y)) PUT(__vsubus2(x, y)) PUT(__vsubus4(x, y))
    PUT(__vabs2(x)) PUT(__vabs4(x)) PUT(__vabsss2(x)) PUT(__vabsss4(x))
    PUT(__vabsdiffs2(x, y)) PUT(__vabsdiffs4(x, y)) PUT(__vabsdiffu2(x, y)) PUT(__vabsdiffu4(x, y))
    PUT(__vmaxs2(x, y)) PUT(__vmaxs4(x, y)) PUT(__vmaxu2(x, y)) PUT(__vmaxu4(x, y))
    PUT(__vmins2(x, y)) PUT(__vmins4(x, y)) PUT(__vminu2(x, y)) PUT(__vminu4(x, y))
    PUT(__vavgs2(x, y)) PUT(__vavgs4(x, y)) PUT(__vavgu2(x, y)) PUT(__vavgu4(x, y))
    PUT(__vhaddu2(x, y)) PUT(__vhaddu4(x, y)) PUT(__vneg2(x)) PUT(__vneg4(x))
    PUT(__vnegss2(x)) PUT(__vnegss4(x)) PUT(__vsads2(x, y)) PUT(__vsads4(x, y))
    PUT(__vsadu2(x, y)) PUT(__vsadu4(x, y))
    PUT(__vcmpeq2(x, y)) PUT(__vcmpeq4(x, y)) PUT(__vcmpges2(x, y)) PUT(__vcmpges4(x, y))
    PUT(__vcmpltu2(x, y)) PUT(__vcmpltu4(x, y)) PUT(__vsetgts2(x, y)) PUT(__vsetgts4(x, y))
    PUT(__vsetleu2(x, y)) PUT(__vsetleu4(x, y)) PUT(__vsetne2(x, y)) PUT(__vsetne4(x, y))
}
