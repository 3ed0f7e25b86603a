void scan(const int *restrict in, int *restrict out, int n)
{
    for (int i = 0; i < n; i += 256) {
        int sum = 0;
        for (int k = i; k < i + 256; k++)
            out[k] = sum += in[k];
    }
}
