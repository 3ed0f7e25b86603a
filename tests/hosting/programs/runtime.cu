// What host programs do with the runtime API; prints one line for each thing, "ok" or what is wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

__constant__ float bias[4];
__device__ int counter;

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i] + bias[1];
        atomicAdd(&counter, 1);
    }
}

__global__ void reversed(int *data, int n)
{
    extern __shared__ int tile[];
    int i = threadIdx.x;
    tile[i] = data[i];
    __syncthreads();
    data[i] = tile[n - 1 - i];
}

struct Pair {
    int x;
    double y;
    char tag[3];
};

template <typename T> __global__ void from_struct(T pair, double *out)
{
    *out = pair.x * pair.y + pair.tag[2];
}

__global__ void speak(int n)
{
    printf("block %d says %d\n", blockIdx.x, n);
}

__global__ void wild(int *at)
{
    at[threadIdx.x] = 1;
}

static int wrong;

static void check(const char *what, bool good)
{
    printf("%-12s %s\n", what, good ? "ok" : "WRONG");
    wrong += !good;
}

#define CK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t code = (call);                                                                 \
        if (code) {                                                                                \
            printf("%s: %s\n", #call, cudaGetErrorString(code));                                   \
            exit(9);                                                                               \
        }                                                                                          \
    } while (0)

static void vectors()
{
    const int n = 1000;
    static float a[n], b[n], c[n];
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 2 * i;
    float *da, *db, *dc;
    CK(cudaMalloc(&da, sizeof a));
    CK(cudaMalloc(&db, sizeof b));
    CK(cudaMalloc(&dc, sizeof c));
    CK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(db, b, sizeof b, cudaMemcpyDefault));
    float values[4] = {1, 2, 3, 4};
    CK(cudaMemcpyToSymbol(bias, values, sizeof values));
    int zero = 0, counted;
    void *place;
    size_t size;
    CK(cudaGetSymbolAddress(&place, counter));
    CK(cudaGetSymbolSize(&size, bias));
    CK(cudaMemcpy(place, &zero, sizeof zero, cudaMemcpyHostToDevice));
    add<<<(n + 127) / 128, 128>>>(da, db, dc, n);
    CK(cudaGetLastError());
    CK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    CK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    bool good = counted == n && size == sizeof values;
    for (int i = 0; i < n; i++)
        good = good && c[i] == 3 * i + 2;
    check("vectors", good);
    CK(cudaFree(da));
    CK(cudaFree(db));
    CK(cudaFree(dc));
    check("free twice", cudaFree(dc) == cudaErrorInvalidValue);
    check("last error", cudaGetLastError() == cudaErrorInvalidValue && !cudaGetLastError());
}

static void kinds_of_memory()
{
    int *managed, *pinned, *mapped;
    CK(cudaMallocManaged(&managed, 64 * sizeof(int)));
    CK(cudaMallocHost(&pinned, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++)
        managed[i] = i, pinned[i] = 100 + i;
    reversed<<<1, 64, 64 * sizeof(int)>>>(managed, 64);
    CK(cudaDeviceSynchronize());
    check("managed", managed[0] == 63 && managed[63] == 0);
    CK(cudaHostGetDevicePointer(&mapped, pinned, 0));
    reversed<<<1, 64, 64 * sizeof(int)>>>(mapped, 64);
    CK(cudaDeviceSynchronize());
    check("pinned", pinned[0] == 163 && pinned[63] == 100);
    int *own = (int *)malloc(64 * sizeof(int));
    for (int i = 0; i < 64; i++)
        own[i] = 7 * i;
    CK(cudaHostRegister(own, 64 * sizeof(int), cudaHostRegisterMapped));
    CK(cudaHostGetDevicePointer(&mapped, own, 0));
    reversed<<<1, 64, 64 * sizeof(int)>>>(mapped, 64);
    CK(cudaDeviceSynchronize());
    CK(cudaHostUnregister(own));
    check("registered", own[0] == 7 * 63 && own[63] == 0);
    cudaPointerAttributes about;
    CK(cudaPointerGetAttributes(&about, managed));
    bool good = about.type == cudaMemoryTypeManaged;
    CK(cudaPointerGetAttributes(&about, own));
    check("attributes", good && about.type == cudaMemoryTypeUnregistered);
    free(own);
    CK(cudaFree(managed));
    CK(cudaFreeHost(pinned));
}

static void rows()
{
    char *pitched;
    size_t pitch;
    char picture[20][30], back[20][30];
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 30; x++)
            picture[y][x] = y * 3 + x;
    CK(cudaMallocPitch(&pitched, &pitch, 30, 20));
    CK(cudaMemset2D(pitched, pitch, 0, 30, 20));
    CK(cudaMemcpy2D(pitched, pitch, picture, 30, 30, 20, cudaMemcpyHostToDevice));
    CK(cudaMemcpy2D(back, 30, pitched, pitch, 30, 20, cudaMemcpyDeviceToHost));
    check("rows", pitch >= 30 && !memcmp(picture, back, sizeof back));
    CK(cudaFree(pitched));
}

static void streams()
{
    cudaStream_t stream;
    cudaEvent_t begin, end;
    int *data, host[64];
    CK(cudaStreamCreate(&stream));
    CK(cudaEventCreate(&begin));
    CK(cudaEventCreate(&end));
    CK(cudaMallocAsync(&data, sizeof host, stream));
    for (int i = 0; i < 64; i++)
        host[i] = i;
    CK(cudaEventRecord(begin, stream));
    CK(cudaMemcpyAsync(data, host, sizeof host, cudaMemcpyHostToDevice, stream));
    reversed<<<1, 64, 64 * sizeof(int), stream>>>(data, 64);
    CK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CK(cudaEventRecord(end, stream));
    CK(cudaStreamSynchronize(stream));
    float milliseconds = -1;
    CK(cudaEventElapsedTime(&milliseconds, begin, end));
    check("streams", host[0] == 63 && milliseconds > 0 && cudaEventQuery(end) == cudaSuccess);
    CK(cudaFreeAsync(data, stream));
    CK(cudaStreamDestroy(stream));
}

static void questions()
{
    cudaDeviceProp about;
    int sms, blocks, grid, block;
    CK(cudaGetDeviceProperties(&about, 0));
    CK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    CK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add));
    cudaFuncAttributes attributes;
    CK(cudaFuncGetAttributes(&attributes, add));
    check("questions", about.multiProcessorCount == sms && about.warpSize == 32 && blocks == 8 &&
                           block == 1024 && attributes.numRegs > 4 && attributes.binaryVersion ==
                           about.major * 10 + about.minor);
    printf("%d.%d\n", about.major, about.minor);
    double *out, value;
    Pair pair = {3, 0.5, {0, 0, 10}};
    CK(cudaMalloc(&out, sizeof *out));
    from_struct<<<1, 1>>>(pair, out);
    CK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
    check("structure", value == 11.5);
    printf("before\n");
    speak<<<2, 1>>>(5);
    CK(cudaDeviceSynchronize());
    printf("after\n");
}

static void mistakes()
{
    add<<<1, 2048>>>(nullptr, nullptr, nullptr, 0);
    check("too many", cudaGetLastError() == cudaErrorInvalidConfiguration);
    add<<<0, 32>>>(nullptr, nullptr, nullptr, 0);
    check("no blocks", cudaGetLastError() == cudaErrorInvalidConfiguration);
    reversed<<<1, 32, 60000>>>(nullptr, 0);
    check("not allowed", cudaGetLastError() == cudaErrorInvalidValue);
    char host[8];
    void *device;
    CK(cudaMalloc(&device, 4));
    check("too long", cudaMemcpy(device, host, 8, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
}

int main(int argc, char **argv)
{
    vectors();
    kinds_of_memory();
    rows();
    streams();
    questions();
    mistakes();
    if (argc > 1) {
        int *device;
        CK(cudaMalloc(&device, 64));
        wild<<<1, 32>>>(device);
        check("launched", cudaGetLastError() == cudaSuccess);
        check("sticky", cudaDeviceSynchronize() == cudaErrorIllegalAddress &&
                            cudaMalloc(&device, 4) == cudaErrorIllegalAddress);
        return 5;
    }
    return wrong ? 1 : 0;
}
