// Step 1: the first n threads of a block fill a box and add up pairs. Step 2: all of them read it.
// The first barrier stands inside the `if`: the third warp never comes to it.
extern "C" __global__ void pairs(const int *in, int *out, int n)
{
    __shared__ int box[96];
    int t = threadIdx.x;
    if (t < n) {
        box[t] = in[t];
        __syncthreads();              // barrier A: only for some
        int sum = box[t] + box[t ^ 1];
        __syncwarp();
        box[t] = sum;
    }
    __syncthreads();                  // barrier B: for all
    out[t] = t < n ? box[t] : box[t - n];
}
