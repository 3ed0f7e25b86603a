// Local arrays of several types indexed dynamically, passed on by pointer, two-dimensional.
struct Cell {
    short s;
    char c[3];
    double d;
};
__device__ __noinline__ void rotate(Cell *cells, int n, int by)
{
    Cell copy[8];
    for (int i = 0; i < n; ++i) copy[(i + by) % n] = cells[i];
    for (int i = 0; i < n; ++i) cells[i] = copy[i];
}

extern "C" __global__ void local_arrays(const int *x, double *out)
{
    int t = threadIdx.x, v = x[t];
    Cell cells[8];
    unsigned char grid[5][7];
    long long wide[6];
    for (int i = 0; i < 35; ++i) grid[i % 5][i % 7] = i * v;
    for (int i = 0; i < 8; ++i) {
        cells[i].s = v + i;
        for (int j = 0; j < 3; ++j) cells[i].c[j] = grid[(i + j + t) % 5][(v & 1023) % 7];
        cells[i].d = i * 0.5;
    }
    rotate(cells, 8, t & 7);
    for (int i = 0; i < 6; ++i) wide[i] = 0;
    for (int i = 0; i < 12; ++i) {
        Cell *c = &cells[(v + i) & 7];
        wide[(t + i) % 6] += (long long)c->s << (i + 20);
        c->d += c->c[i % 3];
    }
    double r = 0;
    for (int i = 0; i < 8; ++i) r += cells[i].d * (i + 1);
    long long w = 0;
    for (int i = 0; i < 6; ++i) w = w * 5 + wide[i];
    out[2 * t] = r;
    out[2 * t + 1] = (double)(w >> 12);
}
