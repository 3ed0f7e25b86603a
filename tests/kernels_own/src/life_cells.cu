// Game of Life twice: bytes on a torus, and 32 cells in a word by bit-sliced addition.
extern "C" __global__ void life_bytes(const unsigned char *from, unsigned char *to, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int n = 0;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i)
            if (i || j) n += from[(y + j + h) % h * w + (x + i + w) % w];
    to[y * w + x] = n == 3 || (n == 2 && from[y * w + x]);
}

extern "C" __global__ void life_words(const unsigned *from, unsigned *to, int h)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row[3] = {from[(y + h - 1) % h], from[y], from[(y + 1) % h]};
    unsigned ones = 0, twos = 0, more = 0;
    for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) {
            if (i == 1 && j == 1) continue;
            unsigned cells = i == 0 ? __funnelshift_l(row[j], row[j], 1)
                           : i == 2 ? __funnelshift_r(row[j], row[j], 1) : row[j];
            unsigned carry = ones & cells;
            ones ^= cells;
            more |= twos & carry;
            twos ^= carry;
        }
    to[y] = twos & ~more & (ones | row[1]);
}
