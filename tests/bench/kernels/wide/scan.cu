/* Inclusive prefix sums of each 256 numbers. */
KERNEL scan(GLOBAL const int *in, GLOBAL int *out, int n)
{
    LOCAL int s[256];
    int t = LX;
    s[t] = in[IX];
    SYNC;
    for (int d = 1; d < 256; d <<= 1) {
        int v = t >= d ? s[t - d] : 0;
        SYNC;
        s[t] += v;
        SYNC;
    }
    if (IX < n)
        out[IX] = s[t];
}
