void kmeans(const float *restrict points, const float *restrict centres, int *restrict nearest, int n)
{
    for (int i = 0; i < n; i++) {
        float least = 1e30f;
        int best = 0;
        for (int k = 0; k < 16; k++) {
            float sum = 0;
            for (int d = 0; d < 8; d++) {
                float e = points[(long)d * n + i] - centres[k * 8 + d];
                sum += e * e;
            }
            best = sum < least ? k : best;
            least = sum < least ? sum : least;
        }
        nearest[i] = best;
    }
}
