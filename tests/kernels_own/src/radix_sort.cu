// Least-significant-digit radix sort of key/value pairs, one block, 4-bit digits.  Ranks inside a
// warp come from ballots, across warps from counters in shared memory.
#define N 256
#define WARPS (N / 32)

extern "C" __global__ void radix_sort(unsigned *keys, unsigned *values)
{
    __shared__ unsigned key[N], value[N];
    __shared__ unsigned count[16][WARPS];
    unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5;
    key[t] = keys[t];
    value[t] = values[t];
    __syncthreads();
    for (int shift = 0; shift < 32; shift += 4) {
        unsigned k = key[t], v = value[t], digit = k >> shift & 15;
        unsigned same = 0xffffffffu;
#pragma unroll
        for (int bit = 0; bit < 4; ++bit) {
            unsigned votes = __ballot_sync(0xffffffffu, digit >> bit & 1);
            same &= digit >> bit & 1 ? votes : ~votes;
        }
        unsigned rank = __popc(same & ((1u << lane) - 1));
        if (lane < 16) count[lane][warp] = 0;
        __syncwarp();
        if (rank == 0) count[digit][warp] = __popc(same);
        __syncthreads();
        if (t == 0) {
            unsigned sum = 0;
            for (int d = 0; d < 16; ++d)
                for (int w = 0; w < WARPS; ++w) {
                    unsigned c = count[d][w];
                    count[d][w] = sum;
                    sum += c;
                }
        }
        __syncthreads();
        unsigned to = count[digit][warp] + rank;
        key[to] = k;
        value[to] = v;
        __syncthreads();
    }
    keys[t] = key[t];
    values[t] = value[t];
}
