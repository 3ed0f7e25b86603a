// All shortest paths with next hops, one launch per intermediate vertex; unreachable is INT_MAX.
extern "C" __global__ void floyd_warshall(int *d, signed char *hop, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n) return;
    int r = i / n, c = i - r * n;
    int a = d[r * n + k], b = d[k * n + c];
    if (a == 0x7fffffff || b == 0x7fffffff) return;
    if (a + b < d[i]) {
        d[i] = a + b;
        hop[i] = hop[r * n + k];
    }
}
