KERNEL transpose(GLOBAL const float *in, GLOBAL float *out, int n)
{
    LOCAL float tile[32][33];
    int x = BX * 32 + LX, y = BY * 32 + LY;
    for (int k = 0; k < 32; k += 8)
        tile[LY + k][LX] = in[(y + k) * n + x];
    SYNC;
    x = BY * 32 + LX;
    y = BX * 32 + LY;
    for (int k = 0; k < 32; k += 8)
        out[(y + k) * n + x] = tile[LX][LY + k];
}
