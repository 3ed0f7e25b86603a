void igemm(const signed char *restrict a, const signed char *restrict b, int *restrict c, int n)
{
    for (int i = 0; i < n; i++) {
        int *row = c + (long)i * n;
        for (int j = 0; j < n; j++)
            row[j] = 0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                row[j] += a[(long)i * n + k] * b[(long)k * n + j];
    }
}
