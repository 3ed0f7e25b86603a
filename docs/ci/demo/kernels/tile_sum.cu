// One sum for each block: tile_sum<<<blocks, 64>>>(in, out, n).
extern "C" __global__ void tile_sum(const int *in, int *out, int n) {
  __shared__ int part[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = 32; half; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
