// Breadth-first search, a launch per level: the frontier is a queue filled with atomicAdd.
__device__ int queue[2][256];
__device__ int length[2];

extern "C" __global__ void bfs_start(int *level, int n, int root)
{
    int t = threadIdx.x;
    for (int v = t; v < n; v += blockDim.x) level[v] = v == root ? 0 : -1;
    if (t == 0) {
        queue[0][0] = root;
        length[0] = 1;
        length[1] = 0;
    }
}

extern "C" __global__ void bfs_level(const int *start, const int *edge, int *level, int depth)
{
    int from = depth & 1, to = from ^ 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length[from];
         i += gridDim.x * blockDim.x) {
        int v = queue[from][i];
        for (int e = start[v]; e < start[v + 1]; ++e) {
            int w = edge[e];
            if (atomicCAS(&level[w], -1, depth + 1) == -1)
                queue[to][atomicAdd(&length[to], 1)] = w;
        }
    }
}

extern "C" __global__ void bfs_swap(int depth, int *sizes)
{
    sizes[depth] = length[depth & 1];
    length[depth & 1] = 0;
}
