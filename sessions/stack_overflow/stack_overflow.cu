// Every thread asks how high the tree is below its node. Each node names its two children, -1: none.
__device__ __noinline__ int height(const int *left, const int *right, int node)
{
    if (node < 0)
        return 0;
    int a = height(left, right, left[node]);
    int b = height(left, right, right[node]);
    return 1 + max(a, b);
}

extern "C" __global__ void heights(const int *left, const int *right, int *out)
{
    int node = threadIdx.x;
    out[node] = height(left, right, node);
}
