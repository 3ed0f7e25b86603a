/* Matrices of 8-bit numbers, summed in 32 bits. */
KERNEL igemm(GLOBAL const signed char *a, GLOBAL const signed char *b, GLOBAL int *c, int n)
{
    LOCAL int sa[16][16], sb[16][16];
    int row = BY * 16 + LY, col = BX * 16 + LX, sum = 0;
    for (int t = 0; t < n; t += 16) {
        sa[LY][LX] = a[row * n + t + LX];
        sb[LY][LX] = b[(t + LY) * n + col];
        SYNC;
        for (int k = 0; k < 16; k++)
            sum += sa[LY][k] * sb[k][LX];
        SYNC;
    }
    c[row * n + col] = sum;
}
