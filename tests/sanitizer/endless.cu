extern "C" __global__ void endless(int *out) { out[32 + threadIdx.x] = 1; for (int i = 0;; i++) ((volatile int *)out)[threadIdx.x] = i; }
