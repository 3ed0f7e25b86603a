void tcgemm(const _Float16 *restrict a, const _Float16 *restrict b, float *restrict c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float lanes[16] = {0}, sum = 0;
            for (int t = 0; t < n; t += 16)
                for (int k = 0; k < 16; k++)
                    lanes[k] += (float)a[(long)i * n + t + k] * (float)b[(long)j * n + t + k];
            for (int k = 0; k < 16; k++)
                sum += lanes[k];
            c[(long)i * n + j] = sum;
        }
}
