// Five-point Jacobi iteration between two buffers, a launch per step; sums without contraction.
extern "C" __global__ void jacobi_steps(const float *from, float *to, int width, int height,
                                        unsigned *largest)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    float old = from[i], now = old;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        now = __fmul_rn(0.25f, __fadd_rn(__fadd_rn(from[i - 1], from[i + 1]),
                                         __fadd_rn(from[i - width], from[i + width])));
    to[i] = now;
    atomicMax(largest, __float_as_uint(fabsf(now - old)));
}
