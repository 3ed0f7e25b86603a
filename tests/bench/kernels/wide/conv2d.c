void conv2d(const float *restrict in, const float *restrict filter, float *restrict out, int n)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float sum = 0;
            for (int j = -2; j <= 2; j++)
                for (int i = -2; i <= 2; i++)
                    if (y + j >= 0 && y + j < n && x + i >= 0 && x + i < n)
                        sum += filter[(j + 2) * 5 + i + 2] * in[(long)(y + j) * n + x + i];
            out[(long)y * n + x] = sum;
        }
}
