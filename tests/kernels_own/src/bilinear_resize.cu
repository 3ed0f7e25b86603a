// Bilinear resize of RGBA bytes in 16.16 fixed point.
extern "C" __global__ void bilinear_resize(const uchar4 *in, int w, int h, uchar4 *out, int W,
                                           int H)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int fx = ((2 * x + 1) * (long long)w * 32768) / W - 32768;
    int fy = ((2 * y + 1) * (long long)h * 32768) / H - 32768;
    fx = min(max(fx, 0), (w - 1) << 16);
    fy = min(max(fy, 0), (h - 1) << 16);
    int x0 = fx >> 16, y0 = fy >> 16, ax = fx & 0xffff, ay = fy & 0xffff;
    int x1 = min(x0 + 1, w - 1), y1 = min(y0 + 1, h - 1);
    uchar4 p[4] = {in[y0 * w + x0], in[y0 * w + x1], in[y1 * w + x0], in[y1 * w + x1]};
    unsigned char r[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        long long a = (&p[0].x)[c], b = (&p[1].x)[c], d = (&p[2].x)[c], e = (&p[3].x)[c];
        long long top = a * (65536 - ax) + b * ax, low = d * (65536 - ax) + e * ax;
        r[c] = (top * (65536 - ay) + low * ay + (1ll << 31)) >> 32;
    }
    out[y * W + x] = make_uchar4(r[0], r[1], r[2], r[3]);
}
