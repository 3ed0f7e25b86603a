/* 5 x 5 filter over a picture; 0 outside. */
KERNEL conv2d(GLOBAL const float *in, GLOBAL const float *filter, GLOBAL float *out, int n)
{
    int x = BX * 16 + LX, y = BY * 16 + LY;
    float sum = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++)
            if (y + j >= 0 && y + j < n && x + i >= 0 && x + i < n)
                sum += filter[(j + 2) * 5 + i + 2] * in[(y + j) * n + x + i];
    out[y * n + x] = sum;
}
