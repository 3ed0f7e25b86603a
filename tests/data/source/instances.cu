//! {"kernel":"instances","block":[64],"grid":[2],"args":[["buf","i32",128,"iota"],["buf","i32",128,"zero"],["i32",3]]}
namespace lib {
template <class K, class V> struct Pair { K first; V second; };
template <class T, int N> struct Ring {
    T data[N];
    int at;
    template <class F> __device__ __noinline__ T push(T v, F fn)
    {
        T old = data[at % N];
        data[at % N] = fn(v, old);
        at++;
        return old;
    }
    struct Cursor { Ring *ring; int pos; };
    __device__ __noinline__ Cursor begin()
    {
        Cursor c;
        c.ring = this;
        c.pos = at - N;
        return c;
    }
};
template <class T> struct Wrap { Pair<T, Ring<T, 3>> both; };
template <class T, class... R> __device__ __noinline__ int count(T a, R... rest)
{
    int me = (int)a;
    if constexpr (sizeof...(rest) > 0)
        me += count(rest...);
    return me;
}
template <template <class> class W, class T> __device__ __noinline__ T unwrap(W<T> &w)
{
    T k = w.both.first;
    k += w.both.second.data[0];
    return k;
}
}
using Nested = lib::Ring<lib::Pair<short, long long>, 2>;
struct Mix { template <class T> __device__ T operator()(T a, T b) const { return a + b * 2; } };
extern "C" __global__ void instances(const int *in, int *out, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    lib::Ring<int, 4> ring{{1, 2, 3, 4}, 0};
    int s = 0;
    for (int j = 0; j < 5; j++)
        s += ring.push(in[i] + j, Mix());
    auto cur = ring.begin();
    lib::Wrap<int> w;
    w.both.first = i;
    w.both.second.at = k;
    for (int j = 0; j < 3; ++j)
        w.both.second.data[j] = j * i;
    int u = lib::unwrap(w);
    Nested nest;
    nest.at = -1;
    nest.data[0].first = (short)-i;
    nest.data[0].second = 1ll << (i & 31);
    nest.data[1] = nest.data[0];
    int n = lib::count(i, 2.5f, (char)3, 4ull);
    out[i] = s + cur.pos + u + n + (int)nest.data[1].second;
}
