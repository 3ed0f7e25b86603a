// BLAKE2s-256 of one-block messages with the message permutation in constant memory.
__constant__ unsigned char sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

__device__ __forceinline__ unsigned ror(unsigned x, int n) { return x >> n | x << (32 - n); }

__device__ void mix(unsigned *v, int a, int b, int c, int d, unsigned x, unsigned y)
{
    v[a] += v[b] + x; v[d] = ror(v[d] ^ v[a], 16);
    v[c] += v[d];     v[b] = ror(v[b] ^ v[c], 12);
    v[a] += v[b] + y; v[d] = ror(v[d] ^ v[a], 8);
    v[c] += v[d];     v[b] = ror(v[b] ^ v[c], 7);
}

extern "C" __global__ void blake2s(const unsigned *blocks, unsigned length, unsigned *out)
{
    const unsigned iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned *m = blocks + 16 * threadIdx.x;
    unsigned v[16];
    for (int i = 0; i < 8; ++i) v[i] = v[i + 8] = iv[i];
    v[0] ^= 0x01010020;
    v[12] ^= length;
    v[14] = ~v[14];
    for (int r = 0; r < 10; ++r)
        for (int i = 0; i < 8; ++i) {
            int k = i & 3, turn = i >> 2;
            mix(v, k, 4 + (k + turn & 3), 8 + (k + 2 * turn & 3), 12 + (k + 3 * turn & 3),
                m[sigma[r][2 * i]], m[sigma[r][2 * i + 1]]);
        }
    for (int i = 0; i < 8; ++i)
        out[8 * threadIdx.x + i] = iv[i] ^ (i == 0 ? 0x01010020 : 0) ^ v[i] ^ v[i + 8];
}
