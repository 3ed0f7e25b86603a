struct Tile { float v[4]; short id; };
struct Vec { float x, y; };
template <class T, int N> __device__ __noinline__ T rev(T x)
{
    __shared__ T buf[N];
    static __device__ int calls = 3;
    buf[threadIdx.x] = x;
    __syncthreads();
    T r = buf[N - 1 - threadIdx.x];
    calls += 0;
    return r + (T)calls;
}
__device__ __forceinline__ int bits(unsigned v)
{
    int n = 0;
    while (v) {
        v &= v - 1;
        n++;
    }
    return n;
}
__device__ __forceinline__ bool within(float x, float lo, float hi)
{
    bool above = x >= lo;
    bool below = x < hi;
    return above && below;
}
__device__ __noinline__ float dot(Vec a, Vec b) { float d = a.x * b.x + a.y * b.y; return d; }
__device__ __noinline__ float scaled(Tile tile,
                                     int by)
{
    float s = tile.v[1] * by;
    return s;
}
extern "C" __global__ void lasting(int *in, int *out)
{
    extern __shared__ float dynamic[];
    __shared__ Tile tiles[4];
    int t = threadIdx.x;
    dynamic[t] = t * -0.5f;
    if (t < 4) {
        tiles[t].id = (short)-t;
        for (int i = 0; i < 4; i++)
            tiles[t].v[i] = i + t * 0.25f;
    }
    __syncthreads();
    int a = rev<int, 32>(t);
    float b = rev<float, 32>(t * 0.5f);
    Tile &mine = tiles[t & 3];
    int c = bits(t) + bits(t + 1);
    bool d = within(b, 1, 9);
    float e = dot({b, 1}, {2, b}) + scaled(mine, 2);
    out[t] = a + (int)dynamic[31 - t] + mine.id + c + d;
    out[t + 32] = (int)(b + e);
}
