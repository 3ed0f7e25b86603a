/* Matrices of 16-bit floats, products summed in 32 bits. */
KERNEL hgemm(GLOBAL const unsigned short *a, GLOBAL const unsigned short *b, GLOBAL float *c, int n)
{
    LOCAL float sa[16][16], sb[16][16];
    int row = BY * 16 + LY, col = BX * 16 + LX;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        sa[LY][LX] = HALF(a, row * n + t + LX);
        sb[LY][LX] = HALF(b, (t + LY) * n + col);
        SYNC;
        for (int k = 0; k < 16; k++)
            sum += sa[LY][k] * sb[k][LX];
        SYNC;
    }
    c[row * n + col] = sum;
}
