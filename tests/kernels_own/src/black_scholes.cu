// Option prices in double precision; the normal distribution by erfc.
struct Market {
    double rate, volatility;
    double strikes[4];
    int count;
};

__device__ double phi(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

extern "C" __global__ void black_scholes(Market m, const double *spot, const double *years,
                                         double2 *prices)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double s = spot[t], y = years[t], k = m.strikes[t % m.count];
    double root = m.volatility * sqrt(y);
    double d1 = (log(s / k) + (m.rate + 0.5 * m.volatility * m.volatility) * y) / root;
    double d2 = d1 - root, discount = exp(-m.rate * y);
    double call = s * phi(d1) - k * discount * phi(d2);
    prices[t] = make_double2(call, call - s + k * discount);
}
