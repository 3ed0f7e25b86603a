void hgemm(const _Float16 *restrict a, const _Float16 *restrict b, float *restrict c, int n)
{
    for (int i = 0; i < n; i++) {
        float *row = c + (long)i * n;
        for (int j = 0; j < n; j++)
            row[j] = 0;
        for (int k = 0; k < n; k++) {
            float f = (float)a[(long)i * n + k];
            for (int j = 0; j < n; j++)
                row[j] += f * (float)b[(long)k * n + j];
        }
    }
}
