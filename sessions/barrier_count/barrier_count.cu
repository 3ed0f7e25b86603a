// Two warps fill a buffer, one warp waits for them at barrier 1 and reads it.
// The barrier is told to wait for 128 threads; the block has 96.
extern "C" __global__ void handover(const int *in, int *out)
{
    __shared__ int box[64];
    int t = threadIdx.x;
    if (t < 64) {
        box[t] = in[t] * in[t];
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[t - 64] = box[t - 64] + box[t - 32];
    }
}
