// Radix-2 Stockham FFT of 64 complex numbers per block in dynamic shared memory, both directions.
extern "C" __global__ void fft_shared(const float2 *in, float2 *out, int n, float sign)
{
    extern __shared__ float2 area[];
    float2 *from = area, *to = area + n;
    int t = threadIdx.x, half = n / 2;
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    from[t] = in[t];
    from[t + half] = in[t + half];
    __syncthreads();
    for (int width = 1; width < n; width *= 2) {
        int k = t & (width - 1);
        float s, c;
        sincospif(sign * k / width, &s, &c);
        float2 a = from[t], b = from[t + half];
        float2 r = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
        int at = 2 * t - k;
        to[at] = make_float2(a.x + r.x, a.y + r.y);
        to[at + width] = make_float2(a.x - r.x, a.y - r.y);
        __syncthreads();
        float2 *x = from;
        from = to;
        to = x;
    }
    out[t] = from[t];
    out[t + half] = from[t + half];
}
