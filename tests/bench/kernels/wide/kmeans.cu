/* The nearest of 16 centres for points of 8 numbers, given number by number of all points. */
KERNEL kmeans(GLOBAL const float *points, GLOBAL const float *centres, GLOBAL int *nearest, int n)
{
    LOCAL float c[16][8];
    float p[8], least = 1e30f;
    int best = 0;
    if (LX < 128)
        c[LX / 8][LX % 8] = centres[LX];
    SYNC;
    for (int d = 0; d < 8; d++)
        p[d] = points[d * n + IX];
    for (int k = 0; k < 16; k++) {
        float sum = 0;
        for (int d = 0; d < 8; d++)
            sum += (p[d] - c[k][d]) * (p[d] - c[k][d]);
        if (sum < least) {
            least = sum;
            best = k;
        }
    }
    nearest[IX] = best;
}
