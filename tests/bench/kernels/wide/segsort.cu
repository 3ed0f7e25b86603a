/* Sorts each 256 keys by their ranks, equal ones in their order. */
KERNEL segsort(GLOBAL const unsigned *in, GLOBAL unsigned *out, int n)
{
    LOCAL unsigned s[256];
    int t = LX;
    unsigned key = in[IX];
    s[t] = key;
    SYNC;
    int rank = 0;
    for (int k = 0; k < 256; k++)
        rank += s[k] < key || (s[k] == key && k < t);
    if (IX < n)
        out[IX - t + rank] = key;
}
