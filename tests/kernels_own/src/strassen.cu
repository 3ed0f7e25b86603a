// One level of Strassen's algorithm on 32x32 matrices of wrapping 32-bit numbers: each of seven
// blocks makes a product of halves, the last one to finish puts the result together.
#define N 32
#define H 16
__device__ unsigned product[7][H][H];
__device__ unsigned finished;

__device__ unsigned part(const unsigned *m, int quarter, int r, int c)
{
    return m[((quarter >> 1) * H + r) * N + (quarter & 1) * H + c];
}

__device__ void tile(unsigned (*t)[H], const unsigned *m, int first, int second, int sign)
{
    int c = threadIdx.x, r = threadIdx.y;
    unsigned v = part(m, first, r, c);
    if (sign) v += sign * part(m, second, r, c);
    t[r][c] = v;
}

extern "C" __global__ void strassen(const unsigned *a, const unsigned *b, unsigned *c)
{
    __shared__ unsigned left[H][H], right[H][H];
    __shared__ bool last;
    int x = threadIdx.x, y = threadIdx.y;
    switch (blockIdx.x) {
    case 0: tile(left, a, 0, 3, 1); tile(right, b, 0, 3, 1); break;
    case 1: tile(left, a, 2, 3, 1); tile(right, b, 0, 0, 0); break;
    case 2: tile(left, a, 0, 0, 0); tile(right, b, 1, 3, -1); break;
    case 3: tile(left, a, 3, 3, 0); tile(right, b, 2, 0, -1); break;
    case 4: tile(left, a, 0, 1, 1); tile(right, b, 3, 3, 0); break;
    case 5: tile(left, a, 2, 0, -1); tile(right, b, 0, 1, 1); break;
    case 6: tile(left, a, 1, 3, -1); tile(right, b, 2, 3, 1); break;
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < H; ++k) sum += left[y][k] * right[k][x];
    product[blockIdx.x][y][x] = sum;
    __threadfence();
    __syncthreads();
    if (x == 0 && y == 0) last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    unsigned m[7];
    for (int i = 0; i < 7; ++i) m[i] = ((volatile unsigned *)product)[(i * H + y) * H + x];
    c[y * N + x] = m[0] + m[3] - m[4] + m[6];
    c[y * N + x + H] = m[2] + m[4];
    c[(y + H) * N + x] = m[1] + m[3];
    c[(y + H) * N + x + H] = m[0] - m[1] + m[2] + m[5];
}
