// By-value structs of more than 32 bytes, indexed dynamically, nested, with odd alignment.
struct Vec {
    short x, y, z;
};
struct Settings {
    char tag;
    Vec corners[5];
    double scale;
    int table[3][4];
    struct {
        unsigned long long seed;
        unsigned char mode;
    } inner[2];
    float tail;
};
struct Pair {
    Settings a;
    int *where;
};

__device__ __noinline__ double evaluate(Settings s, int i)
{
    s.table[i % 3][i & 3] += s.tag;
    double r = 0;
    for (int j = 0; j < 4; ++j) r += s.table[i % 3][j] * s.scale;
    Vec v = s.corners[i % 5];
    return r + v.x - v.y * v.z + s.tail;
}

extern "C" __global__ void struct_params(char first, Settings s, short middle, Pair p, double *out)
{
    int t = threadIdx.x;
    out[t] = evaluate(s, t) + 1000 * evaluate(p.a, t + 1) + first + middle;
    p.where[t] = (int)(s.inner[t & 1].seed >> (t & 7) * 8) ^ s.inner[~t & 1].mode;
}
