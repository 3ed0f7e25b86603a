//! {"kernel":"bit_types","block":[32],"args":[["buf","u32",64,"iota"],["buf","u32",64,"zero"]]}
struct Packed { unsigned char kind : 4; unsigned char level : 4; unsigned short len : 12; bool ok : 1; signed char delta : 3; };
struct Empty {};
struct Two { Empty e; int v; };
struct Outer { struct Inner { int a; short b[3]; } in[2]; Packed p; double *dp; };
__device__ __noinline__ unsigned mix(unsigned long long k)
{
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdull;
    k ^= k >> 29;
    unsigned lo = (unsigned)k;
    unsigned hi = (unsigned)(k >> 32);
    return lo ^ hi;
}
__device__ __noinline__ double poly(double x, const double (&c)[4])
{
    double r = c[3];
    for (int k = 2; k >= 0; k--) {
        r = r * x + c[k];
    }
    return r;
}
extern "C" __global__ void bit_types(const unsigned *in, unsigned *out)
{
    unsigned i = threadIdx.x;
    Packed p = {};
    p.kind = i;
    p.level = i >> 1;
    p.len = i * 99;
    p.ok = i & 1;
    p.delta = (signed char)((int)(i & 7) - 4);
    Two two = {{}, (int)i};
    double coef[4] = {1, 0.5, 0.25, i * 0.125};
    double pv = poly(2.0, coef);
    Outer o = {{{1, {2, 3, 4}}, {(int)i, {5, 6, 7}}}, p, coef};
    Outer::Inner *ip = &o.in[1];
    ip->b[2] = (short)(i * 100);
    unsigned m = mix(((unsigned long long)in[i] << 32) | 0x9e3779b9u);
    bool flag = p.ok && two.v > 3;
    bool other = !flag;
    unsigned sel = flag ? m : ~m;
    out[i] = m + (unsigned)pv + ip->b[2] + sel;
    out[i + 32] = flag + other * 2 + o.p.len + two.v;
}
