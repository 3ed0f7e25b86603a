// Ackermann, mutual recursion, Hanoi with a struct result, and a deep chain of plain calls.
struct Count {
    int moves, deepest;
};
__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }

__device__ __noinline__ Count hanoi(int n, int from, int to, int *pegs)
{
    Count c = {0, n};
    if (n == 0) return c;
    Count a = hanoi(n - 1, from, 3 - from - to, pegs);
    pegs[from] -= n;
    pegs[to] += n;
    Count b = hanoi(n - 1, 3 - from - to, to, pegs);
    c.moves = a.moves + b.moves + 1;
    c.deepest = min(min(a.deepest, b.deepest), n);
    return c;
}

template <int N> __device__ __noinline__ long long chain(long long a, int b, short c, float d, char e)
{
    if constexpr (N == 0) return a + b * c + (long long)d - e;
    else if (b % 3 == N % 3) return chain<N - 1>(a * 3 + N, b + 1, c - N, d * 2, e ^ N) - b;
    else return chain<N - 1>(a ^ b, b - c, c + 2, d + N, e + 1) + 7 * c;
}

extern "C" __global__ void recursion_deep(const int *x, int *out, long long *far)
{
    int t = threadIdx.x, v = x[t], pegs[3] = {0, 0, 0};
    int disks = t % 4;
    pegs[0] = disks * (disks + 1) / 2;
    Count c = hanoi(disks, 0, 2, pegs);
    int4 r = make_int4(ackermann(v & 1 ? 2 : 1, v & 3), even(v & 15), c.moves * 16 + c.deepest,
                       pegs[2] * 100 + pegs[0]);
    ((int4 *)out)[t] = r;
    far[t] = chain<6>(v, t, (short)(v >> 3), t * 0.5f, (char)v);
}
