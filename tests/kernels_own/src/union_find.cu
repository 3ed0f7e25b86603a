// Connected components: union by smaller root with atomicCAS, path halving, then flattening.
__device__ int find(int *parent, int v)
{
    volatile int *p = parent;
    while (true) {
        int up = p[v];
        if (up == v) return v;
        int above = p[up];
        if (above != up) p[v] = above;
        v = above;
    }
}

extern "C" __global__ void link_edges(const int2 *edges, int count, int *parent)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    int a = edges[t].x, b = edges[t].y;
    for (;;) {
        a = find(parent, a);
        b = find(parent, b);
        if (a == b) break;
        if (a < b) {
            int x = a;
            a = b;
            b = x;
        }
        if (atomicCAS(&parent[a], a, b) == a) break;
    }
}

extern "C" __global__ void flatten(int *parent, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) parent[t] = find(parent, t);
}
