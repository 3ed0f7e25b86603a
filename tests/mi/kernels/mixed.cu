// Warps of one block that part ways: to a line, past it, to another, round a loop, into an error.
extern "C" __global__ void mixed(int *out, const volatile int *gate)
{
    int w = threadIdx.x / 32;
    int v = threadIdx.x;
    if (w == 0)
        v += out[0];
    if (w == 1)
        v += out[1] * 3;
    if (w == 2)
        while (gate[0] == 0)
            v++;
    if (w == 3)
        v += out[1 << 28];
    if (w == 4)
        __syncthreads();
    out[threadIdx.x] = v;
    if (w != 4)
        __syncthreads();
    out[threadIdx.x] += 1;
}
