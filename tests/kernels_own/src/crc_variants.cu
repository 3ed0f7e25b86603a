// One CRC template for every width, polynomial and direction; 8, 16, 32 and 64 bits.
template <class T, T Poly, T Init, T Xor, bool Reflect>
__device__ T crc(const unsigned char *m, int n)
{
    constexpr int bits = 8 * sizeof(T);
    T r = Init;
    for (int i = 0; i < n; ++i) {
        if constexpr (Reflect) {
            r ^= m[i];
            for (int b = 0; b < 8; ++b) r = r & 1 ? (T)((r >> 1) ^ Poly) : (T)(r >> 1);
        } else {
            r ^= (T)m[i] << (bits - 8);
            for (int b = 0; b < 8; ++b)
                r = r >> (bits - 1) ? (T)((T)(r << 1) ^ Poly) : (T)(r << 1);
        }
    }
    return r ^ Xor;
}

extern "C" __global__ void crc_variants(const unsigned char *text, int n, unsigned char *c8,
                                        unsigned short *c16, unsigned *c32, unsigned long long *c64)
{
    int t = threadIdx.x;
    const unsigned char *m = text + t * n;
    c8[t] = crc<unsigned char, 0x07, 0, 0, false>(m, n);
    c16[t] = crc<unsigned short, 0x1021, 0xffff, 0, false>(m, n);
    c32[t] = crc<unsigned, 0xedb88320u, 0xffffffffu, 0xffffffffu, true>(m, n);
    c64[t] = crc<unsigned long long, 0xc96c5795d7870f42ull, ~0ull, ~0ull, true>(m, n);
}
