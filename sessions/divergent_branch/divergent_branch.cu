// Collatz, one step: even numbers are halved, odd ones go to 3n + 1.
// The two sides of the `if` are kept apart on purpose (each calls a function the compiler may
// not merge), so that a warp whose lanes disagree has to walk both.
__device__ __noinline__ int halve(int n) { return n / 2; }
__device__ __noinline__ int grow(int n) { return 3 * n + 1; }

extern "C" __global__ void collatz(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = in[i];
    if (n & 1)
        n = grow(n);
    else
        n = halve(n);
    out[i] = n;
}
