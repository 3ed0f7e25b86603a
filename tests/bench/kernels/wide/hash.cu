/* A hash of 16 words for each thread, word by word of all threads. */
KERNEL hash(GLOBAL const unsigned *in, GLOBAL unsigned *out, int n)
{
    unsigned h = 2166136261u;
    for (int k = 0; k < 16; k++) {
        unsigned v = in[k * n + IX] * 0xcc9e2d51u;
        v = (v << 15 | v >> 17) * 0x1b873593u;
        h ^= v;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    out[IX] = h ^ h >> 16;
}
