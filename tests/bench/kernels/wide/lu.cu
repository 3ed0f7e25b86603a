/* L and U of matrices of 32 x 32 in place, without pivots, a block of 32 threads each. */
KERNEL lu(GLOBAL float *matrices, int count)
{
    LOCAL float m[32][33];
    int t = LX;
    for (int row = 0; row < 32; row++)
        m[row][t] = matrices[BX * 1024 + row * 32 + t];
    SYNC;
    for (int k = 0; k < 31; k++) {
        if (t > k)
            m[t][k] /= m[k][k];
        SYNC;
        if (t > k)
            for (int c = k + 1; c < 32; c++)
                m[t][c] -= m[t][k] * m[k][c];
        SYNC;
    }
    if (BX < count)
        for (int row = 0; row < 32; row++)
            matrices[BX * 1024 + row * 32 + t] = m[row][t];
}
