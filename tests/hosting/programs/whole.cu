// A whole program with headers of its own and of cooperative groups, as one finds them.
#include <cstdio>
#include <vector>
#include <cooperative_groups.h>
#include "whole.h"

namespace cg = cooperative_groups;

template <typename T>
__global__ void axpy(T a, const T *x, T *y, int n) {
    int i = cg::this_grid().thread_rank();
    if (i < n) y[i] = combine(a, x[i], y[i]);
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 10;
    std::vector<float> x(n, 2.0f), y(n, 1.0f);
    float *dx, *dy;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dy, n * sizeof(float));
    cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    axpy<float><< <(n + 63) / 64, 64>> >(SCALE, dx, dy, n);
    cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%s: %g\n", cudaGetErrorString(cudaGetLastError()), y[n - 1]);
    return y[n - 1] == 2 * SCALE + 1 ? 7 : 1;
}
