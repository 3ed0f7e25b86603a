// MD5 of one-block messages; sines come from a constant table, rotations are funnel shifts.
__constant__ unsigned sines[64];
__device__ const unsigned char turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

extern "C" __global__ void md5(const unsigned *blocks, uint4 *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned *m = blocks + 16 * t;
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int i = 0; i < 64; ++i) {
        unsigned f;
        int g;
        if (i < 16) f = (b & c) | (~b & d), g = i;
        else if (i < 32) f = (d & b) | (~d & c), g = 5 * i + 1 & 15;
        else if (i < 48) f = b ^ c ^ d, g = 3 * i + 5 & 15;
        else f = c ^ (b | ~d), g = 7 * i & 15;
        f += a + sines[i] + m[g];
        a = d; d = c; c = b;
        b += __funnelshift_l(f, f, turns[i >> 4][i & 3]);
    }
    out[t] = make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}
