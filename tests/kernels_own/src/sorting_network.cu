// Batcher's odd-even merge sort of 16 keys in registers, one row per thread; the network is
// unrolled by templates.
template <int I, int J, bool Inside> struct Exchange {
    static __device__ __forceinline__ void run(int *) {}
};
template <int I, int J> struct Exchange<I, J, true> {
    static __device__ __forceinline__ void run(int *v)
    {
        int a = v[I], b = v[J];
        v[I] = min(a, b);
        v[J] = max(a, b);
    }
};

template <int Low, int N, int R, int I, int End> struct Odd {
    static __device__ __forceinline__ void run(int *v)
    {
        Exchange<I, I + R, true>::run(v);
        if constexpr (I + 2 * R < End) Odd<Low, N, R, I + 2 * R, End>::run(v);
    }
};

template <int Low, int N, int R> __device__ __forceinline__ void merge(int *v)
{
    constexpr int step = 2 * R;
    if constexpr (step < N) {
        merge<Low, N, step>(v);
        merge<Low + R, N, step>(v);
        Odd<Low, N, R, Low + R, Low + N - R>::run(v);
    } else {
        Exchange<Low, Low + R, true>::run(v);
    }
}

template <int Low, int N> __device__ __forceinline__ void sort(int *v)
{
    if constexpr (N > 1) {
        sort<Low, N / 2>(v);
        sort<Low + N / 2, N / 2>(v);
        merge<Low, N, 1>(v);
    }
}

extern "C" __global__ void sorting_network(const int *in, int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = in[t * 16 + i];
    sort<0, 16>(v);
#pragma unroll
    for (int i = 0; i < 16; ++i) out[t * 16 + i] = v[i];
}
