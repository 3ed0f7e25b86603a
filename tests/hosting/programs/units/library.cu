// Thrust and CUB, and a kernel of another file that calls a device function of a third one.
#include <cstdio>
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
struct Square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};
int other(int *p, int n);
int main()
{
    int wrong = 0;
    thrust::device_vector<int> v(1000);
    thrust::sequence(v.begin(), v.end(), 1000, -1);
    thrust::sort(v.begin(), v.end());
    thrust::host_vector<int> h = v;
    for (int i = 0; i < 1000; i++)
        wrong += h[i] != i + 1;
    wrong += thrust::reduce(v.begin(), v.end()) != 500500;
    thrust::transform(v.begin(), v.end(), v.begin(), Square());
    thrust::inclusive_scan(v.begin(), v.end(), v.begin());
    wrong += v[999] != 333833500;
    int *out;
    cudaMalloc(&out, 4);
    void *t = nullptr;
    size_t b = 0;
    cub::DeviceReduce::Max(t, b, thrust::raw_pointer_cast(v.data()), out, 1000);
    cudaMalloc(&t, b);
    cub::DeviceReduce::Max(t, b, thrust::raw_pointer_cast(v.data()), out, 1000);
    int m;
    cudaMemcpy(&m, out, 4, cudaMemcpyDeviceToHost);
    wrong += m != 333833500;
    wrong += other(thrust::raw_pointer_cast(v.data()), 1000);
    printf("%d wrong\n", wrong);
    return wrong;
}
