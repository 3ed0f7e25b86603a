// Polynomials in packed halves, rounding after every step as hardware does: fma, compare, select.
extern "C" __global__ void half_horner(const unsigned *x, const unsigned *coefficients, int n, unsigned *out)
{
    int t = threadIdx.x;
    unsigned v = x[t], r = coefficients[0], m, h;
    for (int i = 1; i < n; ++i)
        asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(r) : "r"(v), "r"(coefficients[i]));
    asm("{ .reg .f16 a, b, c; mov.b32 {a, b}, %1; mul.rn.f16 c, a, b; add.rn.f16 a, c, b; mov.b32 %0, {c, a}; }"
        : "=r"(m) : "r"(v));
    asm("{ .reg .f16 a, b, c, d; .reg .pred p, q; mov.b32 {a, b}, %1; mov.b32 {c, d}, %2;\n"
        "setp.lt.f16x2 p|q, %1, %2; selp.b16 a, a, c, p; selp.b16 b, b, d, q; mov.b32 %0, {a, b}; }"
        : "=r"(h) : "r"(v), "r"(r));
    out[3 * t] = r;
    out[3 * t + 1] = m;
    out[3 * t + 2] = h;
}
