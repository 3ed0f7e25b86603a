void transpose(const float *restrict in, float *restrict out, int n)
{
    for (int by = 0; by < n; by += 32)
        for (int bx = 0; bx < n; bx += 32)
            for (int y = by; y < by + 32; y++)
                for (int x = bx; x < bx + 32; x++)
                    out[(long)y * n + x] = in[(long)x * n + y];
}
