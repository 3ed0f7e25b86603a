// A 32x32 matrix of words held by a warp, one row per lane, transposed in five exchange steps;
// then bits transposed the same way, and a rotation of rows through indexed shuffles.
extern "C" __global__ void warp_transpose(const unsigned *in, unsigned *out, unsigned *bits)
{
    int lane = threadIdx.x;
    unsigned row[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) row[i] = in[lane * 32 + i];
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        bool high = lane & d;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            if (i & d) continue;
            unsigned give = high ? row[i] : row[i + d];
            unsigned take = __shfl_xor_sync(0xffffffffu, give, d);
            if (high) row[i] = take;
            else row[i + d] = take;
        }
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) out[lane * 32 + i] = row[i];
    unsigned w = in[lane];
    unsigned mask = 0x0000ffffu;
#pragma unroll
    for (int d = 16; d; d >>= 1, mask ^= mask << d) {
        unsigned other = __shfl_xor_sync(0xffffffffu, w, d);
        w = lane & d ? (w & ~mask) | (other >> d & mask) : (w & mask) | (other << d & ~mask);
    }
    bits[lane] = w;
    bits[32 + lane] = __shfl_sync(0xffffffffu, w, lane * 5 + 3) ^ __shfl_up_sync(0xffffffffu, w, 3, 8) ^
                      __shfl_down_sync(0xffffffffu, w, 5, 16);
}
