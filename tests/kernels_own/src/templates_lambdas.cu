// Variadic templates, fold expressions, lambdas passed to noinline functions, constexpr tables.
template <class... Ts> __device__ int sum_of(Ts... values) { return (0 + ... + values); }
template <class F, class... Fs> __device__ int pipe(int x, F f, Fs... rest)
{
    if constexpr (sizeof...(rest) == 0) return f(x);
    else return pipe(f(x), rest...);
}
template <class F> __device__ __noinline__ void each(int *v, int n, F f)
{
    for (int i = 0; i < n; ++i) v[i] = f(i, v[i]);
}
struct Squares {
    short v[16];
    __device__ constexpr Squares() : v()
    {
        for (int i = 0; i < 16; ++i) v[i] = i * i - 7;
    }
};
__constant__ const Squares squares;
template <int N> struct Fib { static constexpr unsigned value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static constexpr unsigned value = 0; };
template <> struct Fib<1> { static constexpr unsigned value = 1; };
template <int... I> struct Seq {};
template <int N, int... I> struct Make : Make<N - 1, N - 1, I...> {};
template <int... I> struct Make<0, I...> { typedef Seq<I...> type; };
template <int... I> __device__ unsigned pick(int t, Seq<I...>)
{
    unsigned r = 0;
    ((r = t == I ? Fib<I>::value : r), ...);
    return r;
}

extern "C" __global__ void templates_lambdas(int k, int *out)
{
    int t = threadIdx.x, v[16];
    for (int i = 0; i < 16; ++i) v[i] = t - i;
    int calls = 0;
    each(v, 16, [=, &calls](int i, int x) { ++calls; return x * k + squares.v[(i + t) & 15]; });
    each(v, 8, [&](int i, int x) mutable { return x ^ v[15 - i]; });
    int p = pipe(t, [](int x) { return x + 1; }, [k](int x) { return x * k; },
                 [=](int x) { return x > 40 ? x - t : -x; });
    int s = 0;
    for (int x : v) s = s * 31 + x;
    out[t] = sum_of(s, p, calls, (int)pick(t, Make<32>::type()), t % 2 ? 'a' : 'b');
}
