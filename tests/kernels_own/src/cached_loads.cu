// Loads through the read-only path and with cache hints, stores with hints, clocks that go on.
extern "C" __global__ __launch_bounds__(64, 4) void cached_loads(const int *__restrict__ in, const double2 *wide, int *out,
                                        double2 *copy, unsigned *clocks)
{
    int t = threadIdx.x;
    long long start = clock64();
    int s = __ldg(in + t) + __ldcg(in + t + 1) * 2 + __ldcs(in + t + 2) * 3 + __ldca(in + t + 3) * 5 +
            __ldcv(in + t + 4) * 7;
    double2 d = __ldg(wide + t);
    d.x += __ldcg(wide + t + 1).y;
    __stcg(out + t, s);
    __stwt(copy + t, d);
    __stcs(out + 64 + t, in[t] ^ s);
    __stwb(out + 128 + t, s & 255);
    uchar4 u = __ldg((const uchar4 *)in + t);
    short2 h = __ldg((const short2 *)in + t);
    out[192 + t] = u.x + u.w * 256 + h.y;
    __threadfence_system();
    unsigned c = clock();
    clocks[t] = (clock64() > start) + 2 * (clock() != c);
}
