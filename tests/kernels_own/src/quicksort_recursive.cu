// Recursive quicksort, one thread per row, each with its own pattern of calls.
__device__ __noinline__ void quicksort(short *a, int low, int high, int *depth, int level)
{
    if (level > *depth) *depth = level;
    while (low < high) {
        short pivot = a[(low + high) >> 1];
        int i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) {
                short x = a[i];
                a[i++] = a[j];
                a[j--] = x;
            }
        }
        if (j - low < high - i) {
            quicksort(a, low, j, depth, level + 1);
            low = i;
        } else {
            quicksort(a, i, high, depth, level + 1);
            high = j;
        }
    }
}

extern "C" __global__ void quicksort_recursive(short *rows, int n, int *depths)
{
    int t = threadIdx.x, depth = 0;
    quicksort(rows + t * n, 0, n - 1, &depth, 1);
    depths[t] = depth;
}
