// A layer of 8-bit numbers with dp4a, and one of mixed 16 and 8 bits with dp2a.
extern "C" __global__ void quantized_layer(const int *weights, const unsigned *x, int k, int *out, unsigned *wide)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 1 << 20, low = -5;
    unsigned high = 9;
    for (int i = 0; i < k; ++i) {
        int w = weights[row * k + i];
        int v;
        asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(w), "r"(x[i]), "r"(sum));
        sum = v;
        low = __dp2a_lo(w, (int)x[i], low);
        high = __dp2a_hi((unsigned)w, x[i], high);
        sum ^= __dp4a(w, (int)x[i], i);
    }
    out[row] = sum;
    wide[2 * row] = low;
    wide[2 * row + 1] = high;
}
