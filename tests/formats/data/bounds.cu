// Launch bounds, a by-value struct and a one-byte parameter.
struct three { long long a, b, c; };
extern "C" __global__ void __launch_bounds__(128) bounded(three s, bool flag, long long *out) {
    out[threadIdx.x] = flag ? s.a + s.b : s.c;
}
