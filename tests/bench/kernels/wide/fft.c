void fft(const float *restrict in, const float *restrict turns, float *restrict out, int count)
{
    for (int i = 0; i < count; i++) {
        float re[256], im[256];
        for (int k = 0; k < 256; k++) {
            int r = 0;
            for (int b = 0; b < 8; b++)
                r |= (k >> b & 1) << (7 - b);
            re[r] = in[(i * 256 + k) * 2];
            im[r] = in[(i * 256 + k) * 2 + 1];
        }
        for (int half = 1; half < 256; half <<= 1)
            for (int first = 0; first < 256; first += 2 * half)
                for (int k = 0; k < half; k++) {
                    int a = first + k, b = a + half, turn = k * (128 / half);
                    float c = turns[turn * 2], s = turns[turn * 2 + 1];
                    float x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
                    re[b] = re[a] - x;
                    im[b] = im[a] - y;
                    re[a] += x;
                    im[a] += y;
                }
        for (int k = 0; k < 256; k++) {
            out[(i * 256 + k) * 2] = re[k];
            out[(i * 256 + k) * 2 + 1] = im[k];
        }
    }
}
