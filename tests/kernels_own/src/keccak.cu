// SHA3-256 of short messages: Keccak-f[1600] on 25 64-bit lanes in local memory.
typedef unsigned long long u64;

__device__ __forceinline__ u64 rol(u64 x, int n) { return n ? x << n | x >> (64 - n) : x; }

extern "C" __global__ void keccak(const unsigned char *text, int length, u64 *out)
{
    const unsigned char *m = text + threadIdx.x * length;
    u64 a[25] = {};
    for (int i = 0; i < length; ++i) a[i >> 3] ^= (u64)m[i] << 8 * (i & 7);
    a[length >> 3] ^= 6ull << 8 * (length & 7);
    a[16] ^= 1ull << 63;
    unsigned lfsr = 1;
    for (int round = 0; round < 24; ++round) {
        u64 c[5];
        for (int x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int i = 0; i < 25; ++i) a[i] ^= c[(i + 4) % 5] ^ rol(c[(i + 1) % 5], 1);
        int x = 1, y = 0;
        u64 now = a[1];
        for (int i = 0; i < 24; ++i) {
            int z = (2 * x + 3 * y) % 5;
            x = y;
            y = z;
            u64 next = a[x + 5 * y];
            a[x + 5 * y] = rol(now, (i + 1) * (i + 2) / 2 % 64);
            now = next;
        }
        for (int r = 0; r < 25; r += 5) {
            for (int i = 0; i < 5; ++i) c[i] = a[r + i];
            for (int i = 0; i < 5; ++i) a[r + i] = c[i] ^ (~c[(i + 1) % 5] & c[(i + 2) % 5]);
        }
        for (int j = 0; j < 7; ++j) {
            if (lfsr & 1) a[0] ^= 1ull << ((1 << j) - 1);
            lfsr = lfsr << 1 ^ (lfsr & 0x80 ? 0x171 : 0);
        }
    }
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = a[i];
}
