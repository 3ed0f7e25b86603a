/* Softmax of rows of 256, a block of 128 threads each. */
KERNEL softmax(GLOBAL const float *in, GLOBAL float *out, int rows)
{
    LOCAL float s[128];
    int t = LX, at = BX * 256 + t;
    float a = in[at], b = in[at + 128];
    s[t] = a > b ? a : b;
    SYNC;
    for (int d = 64; d > 0; d >>= 1) {
        if (t < d)
            s[t] = s[t] > s[t + d] ? s[t] : s[t + d];
        SYNC;
    }
    float most = s[0];
    SYNC;
    a = EXP(a - most);
    b = EXP(b - most);
    s[t] = a + b;
    SYNC;
    for (int d = 64; d > 0; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        SYNC;
    }
    float scale = 1.0f / s[0];
    if (BX < rows) {
        out[at] = a * scale;
        out[at + 128] = b * scale;
    }
}
