/* Best local alignment of two words of 64 letters, a block of 64 threads for each pair. */
KERNEL smithwaterman(GLOBAL const unsigned char *a, GLOBAL const unsigned char *b, GLOBAL int *best,
                     int pairs)
{
    LOCAL int rows[3][65];
    LOCAL int most[64];
    int t = LX, letter = a[BX * 64 + t], mine = 0;
    for (int k = 0; k < 3; k++)
        rows[k][t + 1] = rows[k][0] = 0;
    SYNC;
    for (int step = 0; step < 127; step++) {
        int now = step % 3, last = (step + 2) % 3, before = (step + 1) % 3, j = step - t, h = 0;
        if (j >= 0 && j < 64) {
            h = rows[before][t] + (letter == b[BX * 64 + j] ? 3 : -1);
            int up = rows[last][t] - 2, side = rows[last][t + 1] - 2;
            h = h > up ? h : up;
            h = h > side ? h : side;
            h = h > 0 ? h : 0;
        }
        rows[now][t + 1] = h;
        mine = mine > h ? mine : h;
        SYNC;
    }
    most[t] = mine;
    SYNC;
    for (int d = 32; d > 0; d >>= 1) {
        if (t < d)
            most[t] = most[t] > most[t + d] ? most[t] : most[t + d];
        SYNC;
    }
    if (t == 0 && BX < pairs)
        best[BX] = most[0];
}
