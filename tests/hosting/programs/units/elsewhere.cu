__device__ int elsewhere(int i) { return 3 * i; }
