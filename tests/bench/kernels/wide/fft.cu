/* Fourier transforms of 256 complex numbers, a block each; `turns` holds exp(-2 pi i k / 256). */
KERNEL fft(GLOBAL const float *in, GLOBAL const float *turns, GLOBAL float *out, int count)
{
    LOCAL float re[256], im[256];
    int t = LX;
    for (int k = t; k < 256; k += 128) {
        int r = 0;
        for (int b = 0; b < 8; b++)
            r |= (k >> b & 1) << (7 - b);
        re[r] = in[(BX * 256 + k) * 2];
        im[r] = in[(BX * 256 + k) * 2 + 1];
    }
    SYNC;
    for (int reach = 1; reach < 256; reach <<= 1) {
        int k = t & (reach - 1), a = (t - k) * 2 + k, b = a + reach, turn = k * (128 / reach);
        float c = turns[turn * 2], s = turns[turn * 2 + 1];
        float x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
        re[b] = re[a] - x;
        im[b] = im[a] - y;
        re[a] += x;
        im[a] += y;
        SYNC;
    }
    if (BX < count)
        for (int k = t; k < 256; k += 128) {
            out[(BX * 256 + k) * 2] = re[k];
            out[(BX * 256 + k) * 2 + 1] = im[k];
        }
}
