/* Tensor-core products of 16-bit floats: a warp makes 16 x 8 of c; b is given by columns. */
KERNEL tcgemm(GLOBAL const unsigned short *a, GLOBAL const unsigned short *b, GLOBAL float *c, int n)
{
    int row = BY * 16, col = (BX * (NX / 32) + LX / 32) * 8, lane = LX % 32, g = lane / 4;
#ifdef __OPENCL_VERSION__
    for (int k = lane; k < 128; k += 32) {
        int i = row + k / 8, j = col + k % 8;
        float sum = 0;
        for (int t = 0; t < n; t++)
            sum += HALF(a, i * n + t) * HALF(b, j * n + t);
        c[i * n + j] = sum;
    }
#else
    int q = lane % 4 * 2;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    for (int t = 0; t < n; t += 16) {
        unsigned a0 = *(const unsigned *)&a[(row + g) * n + t + q];
        unsigned a1 = *(const unsigned *)&a[(row + g + 8) * n + t + q];
        unsigned a2 = *(const unsigned *)&a[(row + g) * n + t + q + 8];
        unsigned a3 = *(const unsigned *)&a[(row + g + 8) * n + t + q + 8];
        unsigned b0 = *(const unsigned *)&b[(col + g) * n + t + q];
        unsigned b1 = *(const unsigned *)&b[(col + g) * n + t + q + 8];
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    c[(row + g) * n + col + q] = d0;
    c[(row + g) * n + col + q + 1] = d1;
    c[(row + g + 8) * n + col + q] = d2;
    c[(row + g + 8) * n + col + q + 1] = d3;
#endif
}
