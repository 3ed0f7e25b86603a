// Four warps that go through one function: three store, at different times, to the same place.
__device__ int place = 0;
__device__ __noinline__ int put(int w, int n)
{
    int v = 0;
    for (int i = 0; i < n; i++)
        v += i ^ w;
    if (w)
        place = 100 + w;
    return v;
}
extern "C" __global__ void stores(int *out)
{
    int w = threadIdx.x / 32;
    int v = put(w, w ? 2 + w : 20);
    out[threadIdx.x] = v;
}
