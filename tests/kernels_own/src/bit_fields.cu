// Bit-fields across word borders, signed ones, unions as views, arrays of them in shared memory.
struct Packed {
    unsigned a : 3;
    int b : 7;
    unsigned long long c : 33;
    int d : 1;
    unsigned e : 20;
    signed char f;
    bool g : 1;
};
union View {
    Packed p;
    unsigned long long w[3];
    unsigned char bytes[24];
};

extern "C" __global__ void bit_fields(const unsigned long long *in, unsigned long long *out)
{
    __shared__ View shared_views[32];
    int t = threadIdx.x;
    View v;
    for (int i = 0; i < 3; ++i) v.w[i] = 0;
    unsigned long long x = in[t];
    v.p.a = x;
    v.p.b = x >> 3;
    v.p.c = x >> 10;
    v.p.d = x >> 43;
    v.p.e = x >> 44;
    v.p.f = x >> 7;
    v.p.g = x >> 63;
    v.p.a += v.p.b;
    v.p.b -= 5;
    v.p.c *= 3;
    v.p.e ^= v.p.c;
    shared_views[t ^ 1] = v;
    __syncthreads();
    const Packed &q = shared_views[t].p;
    unsigned long long mixed = q.a;
    mixed = mixed * 131 + (unsigned long long)(long long)q.b;
    mixed = mixed * 131 + q.c;
    mixed = mixed * 131 + (unsigned long long)(long long)q.d;
    mixed = mixed * 131 + q.e;
    mixed = mixed * 131 + (unsigned long long)(long long)q.f;
    mixed = mixed * 131 + q.g;
    out[t] = mixed;
}
