// Edit distance of pairs of words by diagonals: a block per pair, three diagonals in shared memory.
extern "C" __global__ void levenshtein(const char *text, const int4 *pairs, int *distance)
{
    __shared__ unsigned short diagonal[3][64];
    int4 p = pairs[blockIdx.x];
    const char *a = text + p.x, *b = text + p.z;
    int n = p.y, m = p.w, t = threadIdx.x;
    for (int d = 0; d <= n + m; ++d) {
        unsigned short *now = diagonal[d % 3], *one = diagonal[(d + 2) % 3],
                       *two = diagonal[(d + 1) % 3];
        for (int i = t; i <= n; i += blockDim.x) {
            int j = d - i;
            if (j < 0 || j > m) continue;
            int v;
            if (i == 0) v = j;
            else if (j == 0) v = i;
            else v = min(min(one[i - 1], one[i]) + 1, two[i - 1] + (a[i - 1] != b[j - 1]));
            now[i] = v;
        }
        __syncthreads();
    }
    if (t == 0) distance[blockIdx.x] = diagonal[(n + m) % 3][n];
}
