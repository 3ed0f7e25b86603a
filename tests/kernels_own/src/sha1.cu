// SHA-1 of messages of different lengths, one per thread.
__device__ __forceinline__ unsigned rol(unsigned x, int n) { return __funnelshift_l(x, x, n); }

__device__ unsigned byte_at(const unsigned char *m, unsigned n, unsigned i, unsigned total)
{
    if (i < n) return m[i];
    if (i == n) return 0x80;
    if (i < total - 4) return 0;
    return n * 8 >> 8 * (total - 1 - i) & 255;
}

extern "C" __global__ void sha1(const unsigned char *text, const unsigned *offset, unsigned *out)
{
    int t = threadIdx.x;
    const unsigned char *m = text + offset[t];
    unsigned n = offset[t + 1] - offset[t];
    unsigned total = (n + 9 + 63) / 64 * 64;
    unsigned h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (unsigned block = 0; block < total; block += 64) {
        unsigned w[16];
        unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
        for (int i = 0; i < 80; ++i) {
            if (i < 16) {
                unsigned x = 0;
                for (int j = 0; j < 4; ++j)
                    x = x << 8 | byte_at(m, n, block + 4 * i + j, total);
                w[i] = x;
            } else {
                w[i & 15] = rol(w[i - 3 & 15] ^ w[i - 8 & 15] ^ w[i - 14 & 15] ^ w[i & 15], 1);
            }
            unsigned f, k;
            switch (i / 20) {
            case 0: f = (b & c) | (~b & d); k = 0x5a827999; break;
            case 1: f = b ^ c ^ d; k = 0x6ed9eba1; break;
            case 2: f = (b & c) | (b & d) | (c & d); k = 0x8f1bbcdc; break;
            default: f = b ^ c ^ d; k = 0xca62c1d6;
            }
            unsigned x = rol(a, 5) + f + e + k + w[i & 15];
            e = d; d = c; c = rol(b, 30); b = a; a = x;
        }
        h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e;
    }
    for (int i = 0; i < 5; ++i) out[5 * t + i] = __byte_perm(h[i], 0, 0x0123);
}
