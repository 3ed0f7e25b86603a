// ChaCha20: four threads share a block and exchange rows by shuffles; key as a by-value struct.
struct Key {
    uint4 low, high;
    unsigned nonce[3];
    unsigned counter;
};

#define QUARTER                                   \
    a += b; d ^= a; d = __funnelshift_l(d, d, 16); \
    c += d; b ^= c; b = __funnelshift_l(b, b, 12); \
    a += b; d ^= a; d = __funnelshift_l(d, d, 8);  \
    c += d; b ^= c; b = __funnelshift_l(b, b, 7);

extern "C" __global__ void chacha20(Key key, const unsigned *in, unsigned *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, col = t & 3, block = t >> 2;
    const unsigned sigma[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    unsigned a0 = sigma[col];
    unsigned b0 = (&key.low.x)[col], c0 = (&key.high.x)[col];
    unsigned d0 = col == 0 ? key.counter + block : key.nonce[col - 1];
    unsigned a = a0, b = b0, c = c0, d = d0;
    for (int i = 0; i < 10; ++i) {
        QUARTER
        b = __shfl_sync(0xffffffffu, b, col + 1 & 3, 4);
        c = __shfl_sync(0xffffffffu, c, col + 2 & 3, 4);
        d = __shfl_sync(0xffffffffu, d, col + 3 & 3, 4);
        QUARTER
        b = __shfl_sync(0xffffffffu, b, col + 3 & 3, 4);
        c = __shfl_sync(0xffffffffu, c, col + 2 & 3, 4);
        d = __shfl_sync(0xffffffffu, d, col + 1 & 3, 4);
    }
    unsigned at = 16 * block + col;
    out[at] = in[at] ^ (a + a0);
    out[at + 4] = in[at + 4] ^ (b + b0);
    out[at + 8] = in[at + 8] ^ (c + c0);
    out[at + 12] = in[at + 12] ^ (d + d0);
}
