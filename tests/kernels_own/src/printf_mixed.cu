// Formatted output of every kind from divergent lanes, strings from memory included.
__device__ const char names[3][8] = {"zero", "one", "two"};
__constant__ char title[16];

extern "C" __global__ void printf_mixed(int n, const double *x)
{
    int t = threadIdx.x;
    if (t == 0) printf("%s: %d rows, 100%%\n", title, n);
    __syncthreads();
    if (t >= n) return;
    if (t % 2)
        printf("[%2d] %-5s|%+.3f|%e|%g\n", t, names[t % 3], x[t], x[t], x[t]);
    else
        printf("[%02x] %llu %lld %c %5u|%-6d|%08X\n", t, ~0ull - t, -1ll << t, 'a' + t, t * 1000u,
               -t, 0xbeef << t);
    if (t == 3) {
        int r = printf("%s\n", "done");
        printf("%d %i %o %hhd %ld %p\n", r, 7, 64, 5, 1l << 40, (void *)0x1234);
    }
}
