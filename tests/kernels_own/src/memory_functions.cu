// memcpy, memset and memmove-like copies of constant and variable length, structs by assignment,
// local static variables, initialised device pointers.
struct Big {
    int v[20];
    char tail[3];
};
__device__ int values[4] = {10, 20, 30, 40};
__device__ int *const second = values + 1;
__device__ const char *const texts[2] = {"alpha", "be"};

__device__ int next()
{
    static int counter = 100;
    return atomicAdd(&counter, 1);
}
__device__ __noinline__ Big twice(Big b)
{
    for (int i = 0; i < 20; ++i) b.v[i] *= 2;
    b.tail[1] = 'x';
    return b;
}

extern "C" __global__ void memory_functions(const char *in, char *out, const int *length, int *sum)
{
    __shared__ Big shared_big;
    int t = threadIdx.x;
    char buffer[64];
    memset(buffer, t, sizeof(buffer));
    memcpy(buffer + 3, in + t, length[t]);
    memcpy(out + 64 * t, buffer, 64);
    if (t == 0) {
        memset(&shared_big, 1, sizeof(Big));
        *second += 5;
        next();
    }
    __syncthreads();
    Big b = shared_big;
    b.v[t % 20] = t;
    Big c = twice(b);
    b = c;
    sum[t] = b.v[t % 20] + b.v[(t + 1) % 20] + b.tail[1] + values[t % 4] + texts[t & 1][t & 1 ? 1 : 3];
    if (t == 1) sum[32] = next() * 2 + (c.tail[2] == 1);
}
