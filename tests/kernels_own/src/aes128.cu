// AES-128 encryption, one block of 16 bytes per thread; the S-box is computed into shared memory
// from inverses in GF(2^8), round keys lie in constant memory.
__constant__ unsigned char round_keys[176];

__device__ unsigned char times(unsigned char a, unsigned char b)
{
    unsigned char r = 0;
    while (b) {
        if (b & 1) r ^= a;
        a = (a << 1) ^ (a & 0x80 ? 0x1b : 0);
        b >>= 1;
    }
    return r;
}

__device__ unsigned char affine(unsigned char x)
{
    unsigned y = x * 0x101u;
    return x ^ (y >> 7) ^ (y >> 6) ^ (y >> 5) ^ (y >> 4) ^ 0x63;
}

extern "C" __global__ void aes128(const uint4 *in, uint4 *out)
{
    __shared__ unsigned char sbox[256];
    __shared__ unsigned char power[256], log_of[256];
    if (threadIdx.x == 0) {
        unsigned char p = 1;
        for (int i = 0; i < 255; ++i) {
            power[i] = p;
            log_of[p] = i;
            p = p ^ (p << 1) ^ (p & 0x80 ? 0x1b : 0);
        }
        power[255] = 1;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        sbox[i] = affine(i ? power[255 - log_of[i]] : 0);
    __syncthreads();

    union {
        uint4 v;
        unsigned char b[16];
    } s;
    s.v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < 16; ++i) s.b[i] ^= round_keys[i];
    for (int round = 1; round <= 10; ++round) {
        unsigned char t[16];
        for (int c = 0; c < 4; ++c)
            for (int r = 0; r < 4; ++r) t[4 * c + r] = sbox[s.b[4 * ((c + r) & 3) + r]];
        for (int c = 0; c < 4; ++c) {
            unsigned char *q = t + 4 * c;
            for (int r = 0; r < 4; ++r) {
                unsigned char m = q[r];
                if (round < 10) {
                    unsigned char d = q[r] ^ q[(r + 1) & 3];
                    m = q[0] ^ q[1] ^ q[2] ^ q[3] ^ q[r] ^ (d << 1) ^ (d & 0x80 ? 0x1b : 0);
                }
                s.b[4 * c + r] = m ^ round_keys[16 * round + 4 * c + r];
            }
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = s.v;
}

extern "C" __global__ void gf_products(const unsigned char *a, const unsigned char *b,
                                       unsigned char *c)
{
    int t = threadIdx.x;
    c[t] = times(a[t], b[t]);
}
