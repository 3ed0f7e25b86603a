// A horizontal box filter, 15 pixels wide, on a surface of 8-bit greys. Reads outside the picture
// shall take the nearest pixel (.clamp); one of them asks for zeros instead.
#define ADD(clamp, x, y)                                                                            \
    do {                                                                                            \
        unsigned short texel;                                                                       \
        asm volatile("suld.b.2d.b8." clamp " %0, [%1, {%2, %3}];"                                   \
                     : "=h"(texel) : "l"(in), "r"(x), "r"(y));                                      \
        sum += texel;                                                                               \
    } while (0)

extern "C" __global__ void box_filter(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    unsigned sum = 0;
    ADD("clamp", x, y);
#pragma unroll 1
    for (int dx = 1; dx <= 7; dx++) {
        ADD("clamp", x + dx, y);
        ADD("zero", x - dx, y);
    }
    asm volatile("sust.b.2d.b8.trap [%0, {%1, %2}], %3;"
                 ::"l"(out), "r"(x), "r"(y), "h"((unsigned short)(sum / 15)));
}
