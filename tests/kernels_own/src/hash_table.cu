// Open addressing with 64-bit compare-and-swap of (key, value); sums by key, then look-ups.
typedef unsigned long long u64;
#define EMPTY 0xffffffffffffffffull

__device__ unsigned slot_of(unsigned key, unsigned mask)
{
    key ^= key >> 16;
    key *= 0x85ebca6bu;
    key ^= key >> 13;
    return key & mask;
}

extern "C" __global__ void insert(u64 *table, unsigned mask, const unsigned *keys,
                                  const unsigned *values, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned key = keys[t];
    for (unsigned s = slot_of(key, mask);; s = s + 1 & mask) {
        u64 old = *(volatile u64 *)&table[s];
        while (old == EMPTY || (unsigned)(old >> 32) == key) {
            unsigned sum = old == EMPTY ? 0 : (unsigned)old;
            u64 fresh = (u64)key << 32 | (sum + values[t]);
            u64 seen = atomicCAS(&table[s], old, fresh);
            if (seen == old) return;
            old = seen;
        }
    }
}

extern "C" __global__ void lookup(const u64 *table, unsigned mask, const unsigned *keys,
                                  long long *found, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned s = slot_of(keys[t], mask);
    long long r = -1;
    while (table[s] != EMPTY) {
        if ((unsigned)(table[s] >> 32) == keys[t]) {
            r = (unsigned)table[s];
            break;
        }
        s = s + 1 & mask;
    }
    found[t] = r;
}
