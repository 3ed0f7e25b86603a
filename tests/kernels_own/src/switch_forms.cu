// Dense, sparse, 64-bit and nested switches, with fall-through and loops inside.
__device__ __noinline__ int dense(int k, int v)
{
    switch (k) {
    case 0: return v + 11;
    case 1: v ^= 0x55;
    case 2: v *= 3; break;
    case 3: for (int i = 0; i < (v & 3); ++i) v += i * v; break;
    case 4: return v < 0 ? -v : v;
    case 5: case 6: v = v / 7; break;
    case 7: v = v % 7; break;
    case 8: v <<= v & 7; break;
    case 9: switch (v & 3) { case 0: return 5; case 1: v += 100; break; case 2: v -= 100; default: ++v; } break;
    case 10: v = __clz(v); break;
    case 11: v = ~v; break;
    default: v = -k;
    }
    return v * 2;
}
__device__ __noinline__ int sparse(unsigned long long k)
{
    switch (k) {
    case 1: return 1;
    case 1000: return 2;
    case 0x100000000ull: return 3;
    case 0xffffffffffffffffull: return 4;
    case 0x8000000000000000ull: return 5;
    case 77777: return 6;
    }
    return 0;
}
extern "C" __global__ void switch_forms(const int *k, const int *v, const unsigned long long *w, int *out)
{
    int t = threadIdx.x, r = v[t];
    for (int i = 0; i < 3; ++i) r = dense((k[t] + i * 5) % 14, r);
    out[2 * t] = r;
    out[2 * t + 1] = sparse(w[t]);
}
