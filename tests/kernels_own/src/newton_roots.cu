// Real roots of cubics by Newton's method with bisection as a net, doubles, divergent exits.
__device__ double eval(const double *c, double x) { return ((c[3] * x + c[2]) * x + c[1]) * x + c[0]; }

extern "C" __global__ void newton_roots(const double *coefficients, double *roots, int *steps)
{
    int t = threadIdx.x;
    double c[4];
    for (int i = 0; i < 4; ++i) c[i] = coefficients[4 * t + i];
    double low = -64, high = 64, x = 0.5;
    int n = 0;
    for (; n < 100; ++n) {
        double f = eval(c, x);
        if (f == 0) break;
        if ((f < 0) == (c[3] > 0)) low = x;
        else high = x;
        double slope = (3 * c[3] * x + 2 * c[2]) * x + c[1];
        double next = x - f / slope;
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (fabs(next - x) <= 4e-16 * fabs(next)) {
            x = next;
            break;
        }
        x = next;
    }
    roots[t] = x;
    steps[t] = n;
}
