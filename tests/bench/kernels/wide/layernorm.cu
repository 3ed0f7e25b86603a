/* Rows of 512 to mean 0 and variance 1, scaled and moved, a block of 128 threads each. */
KERNEL layernorm(GLOBAL const float *in, GLOBAL const float *gain, GLOBAL const float *bias,
                 GLOBAL float *out, int rows)
{
    LOCAL float s[128], q[128];
    int t = LX;
    float v[4], sum = 0, squares = 0;
    for (int k = 0; k < 4; k++) {
        v[k] = in[BX * 512 + k * 128 + t];
        sum += v[k];
        squares += v[k] * v[k];
    }
    s[t] = sum;
    q[t] = squares;
    SYNC;
    for (int d = 64; d > 0; d >>= 1) {
        if (t < d) {
            s[t] += s[t + d];
            q[t] += q[t + d];
        }
        SYNC;
    }
    float mean = s[0] / 512, scale = 1.0f / SQRT(q[0] / 512 - mean * mean + 1e-5f);
    if (BX < rows)
        for (int k = 0; k < 4; k++) {
            int c = k * 128 + t;
            out[BX * 512 + c] = (v[k] - mean) * scale * gain[c] + bias[c];
        }
}
