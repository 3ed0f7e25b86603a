// Locks by compare-and-swap around list heads: lanes of a warp fight for the same bucket.
extern "C" __global__ void spin_locks(const unsigned *keys, int *locks, int *heads, int *next, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bucket = keys[i] & 7;
        bool done = false;
        while (!done) {
            if (atomicCAS(locks + bucket, 0, 1) == 0) {
                next[i] = heads[bucket];
                heads[bucket] = i + 1;
                __threadfence();
                atomicExch(locks + bucket, 0);
                done = true;
            }
        }
    }
}

extern "C" __global__ void walk(const int *heads, const int *next, int *counts, int *sums) {
    int b = threadIdx.x;
    for (int i = heads[b]; i; i = next[i - 1]) {
        counts[b]++;
        sums[b] += i - 1;
    }
}
