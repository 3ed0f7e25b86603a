void smithwaterman(const unsigned char *restrict a, const unsigned char *restrict b,
                   int *restrict best, int pairs)
{
    for (int p = 0; p < pairs; p++) {
        int row[65] = {0}, most = 0;
        for (int j = 0; j < 64; j++) {
            int corner = 0;
            for (int t = 0; t < 64; t++) {
                int h = corner + (a[p * 64 + t] == b[p * 64 + j] ? 3 : -1);
                int up = row[t] - 2, side = row[t + 1] - 2;
                corner = row[t + 1];
                h = h > up ? h : up;
                h = h > side ? h : side;
                h = h > 0 ? h : 0;
                row[t + 1] = h;
                most = most > h ? most : h;
            }
        }
        best[p] = most;
    }
}
