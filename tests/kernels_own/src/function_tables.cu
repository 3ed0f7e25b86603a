// Tables of function pointers: in constant memory, in a struct passed on, chosen per lane.
typedef int (*Op)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ __noinline__ int mix(int a, int b)
{
    if (a > b) return a ^ (b << 3);
    for (int i = 0; i < (b & 7); ++i) a = a * 5 + i;
    return a;
}
__device__ const Op table[4] = {add, sub, mul, mix};
__device__ Op patched = add;

struct Machine {
    Op first, second;
    int constant;
    __device__ int run(int x) const { return second(first(x, constant), x); }
};
__device__ __noinline__ int apply(const Machine &m, int x) { return m.run(x); }

extern "C" __global__ void set_patched(int which) { patched = table[which]; }

extern "C" __global__ void function_tables(const int *code, int *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int c = code[t], v = t;
    for (int i = 0; i < 4; ++i) v = table[c >> 2 * i & 3](v, c + i);
    Machine m = {table[c & 3], patched, c};
    out[t] = apply(m, v);
}
