void lu(float *restrict matrices, int count)
{
    for (int i = 0; i < count; i++) {
        float(*m)[32] = (float(*)[32])(matrices + i * 1024);
        for (int k = 0; k < 31; k++)
            for (int t = k + 1; t < 32; t++) {
                float f = m[t][k] /= m[k][k];
                for (int c = k + 1; c < 32; c++)
                    m[t][c] -= f * m[k][c];
            }
    }
}
