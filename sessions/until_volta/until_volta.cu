// Each thread of one warp adds its neighbour's number to its own. There is no barrier between the
// store and the load, "because a warp runs in lock-step".
extern "C" __global__ void add_neighbour(const int *in, int *out)
{
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    out[t] = in[t] + s[(t + 1) % 32];
}
