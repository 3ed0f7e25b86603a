// Philox4x32-10, xorshift128, PCG32 and MT19937, each as published.
extern "C" __global__ void philox(uint4 counter, uint2 key, uint4 *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = counter;
    c.x += t;
    if (c.x < counter.x) ++c.y;
    for (int i = 0; i < 10; ++i) {
        unsigned long long p = (unsigned long long)c.x * 0xd2511f53u;
        unsigned long long q = (unsigned long long)c.z * 0xcd9e8d57u;
        c = make_uint4((unsigned)(q >> 32) ^ c.y ^ key.x, (unsigned)q,
                       (unsigned)(p >> 32) ^ c.w ^ key.y, (unsigned)p);
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    out[t] = c;
}

extern "C" __global__ void small_streams(const unsigned *seeds, unsigned *xorshift, unsigned *pcg)
{
    unsigned t = threadIdx.x;
    unsigned x = seeds[4 * t], y = seeds[4 * t + 1], z = seeds[4 * t + 2], w = seeds[4 * t + 3];
    unsigned long long state = (unsigned long long)x << 32 | y;
    for (int i = 0; i < 8; ++i) {
        unsigned s = x ^ x << 11;
        x = y; y = z; z = w;
        w = w ^ w >> 19 ^ s ^ s >> 8;
        xorshift[8 * t + i] = w;
        unsigned long long old = state;
        state = old * 6364136223846793005ull + 1442695040888963407ull;
        unsigned mixed = (old >> 18 ^ old) >> 27, turn = old >> 59;
        pcg[8 * t + i] = mixed >> turn | mixed << (-turn & 31);
    }
}

extern "C" __global__ void twister(unsigned seed, unsigned *out)
{
    __shared__ unsigned mt[624];
    int t = threadIdx.x;
    if (t == 0) {
        mt[0] = seed;
#pragma unroll 1
        for (int i = 1; i < 624; ++i) mt[i] = 1812433253u * (mt[i - 1] ^ mt[i - 1] >> 30) + i;
    }
    __syncthreads();
    // Of 624 words, 227 at a time depend only on older ones.
#pragma unroll 1
    for (int base = 0; base < 624; base += 227) {
        int k = base + t;
        unsigned fresh = 0;
        bool mine = t < 227 && k < 624;
        if (mine) {
            unsigned y = (mt[k] & 0x80000000u) | (mt[(k + 1) % 624] & 0x7fffffffu);
            fresh = mt[(k + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        __syncthreads();
        if (mine) mt[k] = fresh;
        __syncthreads();
    }
    for (int k = t; k < 624; k += blockDim.x) {
        unsigned y = mt[k];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        out[k] = y ^ y >> 18;
    }
}
