// the same steps, in place
void scan(const int *restrict in, int *restrict out, int n)
{
    for (int i = 0; i < n; i += 256) {
        int s[256];
        for (int t = 0; t < 256; t++)
            s[t] = in[i + t];
        for (int d = 1; d < 256; d <<= 1)
            for (int t = 255; t >= d; t--)
                s[t] += s[t - d];
        for (int t = 0; t < 256; t++)
            out[i + t] = s[t];
    }
}
