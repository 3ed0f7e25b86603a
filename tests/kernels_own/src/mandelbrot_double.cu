// Escape times in double precision, fused multiply-adds written out; a 2D grid of 2D blocks.
extern "C" __global__ void mandelbrot_double(double x0, double y0, double step, int limit,
                                             unsigned short *out)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x, iy = blockIdx.y * blockDim.y + threadIdx.y;
    double cx = x0 + ix * step, cy = y0 + iy * step, x = 0, y = 0;
    unsigned short n = 0;
    do {
        double xx = x * x, yy = y * y;
        if (xx + yy > 4.0) break;
        y = 2 * x * y + cy;
        x = xx - yy + cx;
    } while (++n < limit);
    out[iy * gridDim.x * blockDim.x + ix] = n;
}
