// Calls of the runtime API beside kernels, and what CUDA documents of their answers.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <memory>
#include <vector>
static int wrong;
#define OK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_));                    \
            wrong++;                                                                               \
            cudaGetLastError();                                                                    \
        }                                                                                          \
    } while (0)
#define IS(want, call)                                                                             \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != (want)) {                                                                        \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_));                    \
            wrong++;                                                                               \
        }                                                                                          \
        cudaGetLastError();                                                                        \
    } while (0)
#define TRUE(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("line %d: not %s\n", __LINE__, #x);                                             \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)
#if CUDART_VERSION >= 13000
#define PLACES                                                                                     \
    cudaMemLocation dev = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
#define PREFETCH(at, size, to) cudaMemPrefetchAsync(at, size, to, 0, 0)
#else
#define PLACES int dev = 0, host = cudaCpuDeviceId;
#define PREFETCH(at, size, to) cudaMemPrefetchAsync(at, size, to, 0)
#endif

__global__ void add(int *p, int n, int v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += v;
}
__global__ __launch_bounds__(256) void bounded(int *p)
{
    extern __shared__ int s[];
    __shared__ int q[16];
    q[threadIdx.x % 16] = threadIdx.x;
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[255 - threadIdx.x] + q[threadIdx.x % 8];
}
__constant__ int table[64];
__device__ int counter[4];
__global__ void usetable(int *p)
{
    p[threadIdx.x] = table[threadIdx.x];
    atomicAdd(&counter[0], 1);
}

static void attributes()
{
    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, bounded));
    TRUE(a.sharedSizeBytes == 64);
    TRUE(a.maxThreadsPerBlock == 256);
    TRUE(a.numRegs > 0);
    TRUE(a.binaryVersion == 80);
    TRUE(a.maxDynamicSharedSizeBytes == 48 * 1024 - 64);
    OK(cudaFuncGetAttributes(&a, usetable));
    TRUE(a.constSizeBytes == 256);
    OK(cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    OK(cudaFuncGetAttributes(&a, bounded));
    TRUE(a.maxDynamicSharedSizeBytes == 100 * 1024);
    IS(cudaErrorInvalidValue,
       cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    IS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&a, (const void *)&wrong));
    int blocks = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 256, 0));
    TRUE(blocks == 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 256, 100 * 1024));
    TRUE(blocks == 1);
    int grid = 0, block = 0;
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 0));
    TRUE(block == 1024);
    size_t dyn;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&dyn, bounded, 2, 256));
    TRUE(dyn > 0);
    int major;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    TRUE(major == 8);
    IS(cudaErrorInvalidDevice,
       cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 3));
    IS(cudaErrorInvalidDevice, cudaSetDevice(1));
    int v;
    OK(cudaDriverGetVersion(&v));
    TRUE(v >= 12000);
    OK(cudaRuntimeGetVersion(&v));
    TRUE(v >= 12000);
}

static void pools()
{
    cudaMemPool_t pool, def;
    OK(cudaDeviceGetDefaultMemPool(&def, 0));
    cudaMemPool_t cur;
    OK(cudaDeviceGetMemPool(&cur, 0));
    TRUE(cur == def);
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&pool, &props));
    TRUE(pool != def);
    uint64_t threshold = 1 << 20, got = 0;
    OK(cudaMemPoolGetAttribute(def, cudaMemPoolAttrReleaseThreshold, &got));
    TRUE(got == 0);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    TRUE(got == threshold);
    int flag = 0;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag));
    TRUE(flag == 1);
    flag = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag));
    flag = 7;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag));
    TRUE(flag == 0);
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    int *p, *q;
    OK(cudaMallocFromPoolAsync((void **)&p, 4096, pool, s));
    OK(cudaMallocAsync((void **)&q, 1000, s));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));
    TRUE(got == 4096);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    TRUE(got == 4096);
    OK(cudaMemsetAsync(p, 1, 4096, s));
    add<<<4, 256, 0, s>>>(p, 1024, 1);
    int h;
    OK(cudaMemcpyAsync(&h, p + 7, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    TRUE(h == 0x01010102);
    OK(cudaFreeAsync(p, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));
    TRUE(got == 0);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    TRUE(got == 4096);
    got = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    TRUE(got == 0);
    OK(cudaMemPoolTrimTo(pool, 0));
    cudaMemAccessDesc d = {};
    d.location = props.location;
    d.flags = cudaMemAccessFlagsProtReadWrite;
    OK(cudaMemPoolSetAccess(pool, &d, 1));
    cudaMemAccessFlags f;
    OK(cudaMemPoolGetAccess(&f, pool, &props.location));
    TRUE(f == cudaMemAccessFlagsProtReadWrite);
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaDeviceGetMemPool(&cur, 0));
    TRUE(cur == pool);
    OK(cudaDeviceSetMemPool(0, def));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaStreamDestroy(s));
}

static void managed()
{
    int *p;
    OK(cudaMallocManaged(&p, 4096));
    PLACES
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, dev));
    int v = -5;
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributeReadMostly, p, 4096));
    TRUE(v == 1);
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseUnsetReadMostly, dev));
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributeReadMostly, p, 4096));
    TRUE(v == 0);
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, dev));
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributePreferredLocation, p, 4096));
    TRUE(v == 0);
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, host));
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributePreferredLocation, p, 4096));
    TRUE(v == cudaCpuDeviceId);
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseUnsetPreferredLocation, host));
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributePreferredLocation, p, 4096));
    TRUE(v == cudaInvalidDeviceId);
    OK(PREFETCH(p, 4096, dev));
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributeLastPrefetchLocation, p, 4096));
    TRUE(v == 0);
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetAccessedBy, dev));
    OK(cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributeAccessedBy, p, 4096));
    TRUE(v == 0);
    int by[2] = {9, 9};
    OK(cudaMemRangeGetAttribute(by, 8, cudaMemRangeAttributeAccessedBy, p, 4096));
    TRUE(by[0] == 0 && by[1] == cudaInvalidDeviceId);
    p[5] = 3;
    add<<<1, 32>>>(p, 32, 4);
    OK(cudaDeviceSynchronize());
    TRUE(p[5] == 7);
    int local;
    IS(cudaErrorInvalidValue, cudaMemAdvise(&local, 4, cudaMemAdviseSetReadMostly, dev));
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, p));
    TRUE(a.type == cudaMemoryTypeManaged && a.hostPointer == p && a.devicePointer == p);
    OK(cudaPointerGetAttributes(&a, &local));
    TRUE(a.type == cudaMemoryTypeUnregistered);
    OK(cudaFree(p));
    int *h = (int *)malloc(8192 * 4);
    for (int i = 0; i < 8192; i++)
        h[i] = i;
    OK(cudaHostRegister(h, 8192 * 4, cudaHostRegisterMapped));
    int *d;
    OK(cudaHostGetDevicePointer(&d, h, 0));
    IS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(h, 8192 * 4, 0));
    unsigned flags;
    OK(cudaHostGetFlags(&flags, h));
    TRUE(flags & cudaHostRegisterMapped);
    OK(cudaHostGetDevicePointer(&d, h + 5, 0));
    TRUE(d - 5 == h);
    add<<<32, 256>>>(d - 5, 8192, 1);
    OK(cudaDeviceSynchronize());
    TRUE(h[100] == 101 && h[8191] == 8192);
    OK(cudaPointerGetAttributes(&a, h));
    TRUE(a.type == cudaMemoryTypeHost);
    OK(cudaHostUnregister(h));
    IS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(h));
    TRUE(h[77] == 78);
    free(h);
}

static void copies()
{
    // 3D copy with pitches
    cudaExtent e = make_cudaExtent(40, 5, 3);
    cudaPitchedPtr dp;
    OK(cudaMalloc3D(&dp, e));
    TRUE(dp.pitch >= 40 && dp.ysize == 5);
    OK(cudaMemset3D(dp, 0x11, e));
    std::vector<unsigned char> h(40 * 5 * 3), g(40 * 5 * 3);
    for (size_t i = 0; i < h.size(); i++)
        h[i] = i * 7;
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(h.data(), 40, 40, 5);
    p.dstPtr = dp;
    p.extent = e;
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    cudaMemcpy3DParms b = {};
    b.srcPtr = dp;
    b.dstPtr = make_cudaPitchedPtr(g.data(), 40, 40, 5);
    b.extent = e;
    b.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&b));
    TRUE(h == g);
    cudaMemcpy3DPeerParms pp = {};
    pp.srcPtr = dp;
    pp.dstPtr = dp;
    pp.dstPos = make_cudaPos(0, 0, 2);
    pp.extent = make_cudaExtent(40, 5, 1);
    OK(cudaMemcpy3DPeer(&pp));
    OK(cudaMemcpy3D(&b));
    TRUE(!memcmp(&g[400], &h[0], 200));
    // sub-box
    cudaMemcpy3DParms sub = {};
    sub.srcPtr = make_cudaPitchedPtr(h.data(), 40, 40, 5);
    sub.srcPos = make_cudaPos(3, 1, 1);
    sub.dstPtr = dp;
    sub.dstPos = make_cudaPos(8, 0, 0);
    sub.extent = make_cudaExtent(10, 2, 1);
    sub.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3DAsync(&sub, 0));
    OK(cudaMemcpy3D(&b));
    TRUE(g[8] == h[200 + 40 + 3] && g[40 + 17] == h[200 + 80 + 12]);
    OK(cudaFree(dp.ptr));
    int *x, *y;
    OK(cudaMalloc(&x, 400));
    OK(cudaMalloc(&y, 400));
    OK(cudaMemset(x, 5, 400));
    OK(cudaMemcpyPeer(y, 0, x, 0, 400));
    int r;
    OK(cudaMemcpy(&r, y + 99, 4, cudaMemcpyDefault));
    TRUE(r == 0x05050505);
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(y, x, 4, (cudaMemcpyKind)9));
    IS(cudaErrorInvalidValue, cudaFree(x + 1));
    int can;
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    TRUE(can == 0);
    OK(cudaFree(x));
    OK(cudaFree(y));
}
static int ran[3];
static void CUDART_CB hosted(void *p)
{
    ran[0]++;
    *(int *)p = 5;
}
static void CUDART_CB called(cudaStream_t, cudaError_t e, void *p) { ran[1] += e == cudaSuccess; }
static void events()
{
    cudaEvent_t a, b, c;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventCreateWithFlags(&c, cudaEventDisableTiming));
    float ms;
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b));
    OK(cudaEventRecord(a));
    int *p;
    OK(cudaMalloc(&p, 4096));
    OK(cudaMemset(p, 0, 4096));
    add<<<4, 256>>>(p, 1024, 1);
    OK(cudaEventRecord(b));
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    TRUE(ms > 0);
    OK(cudaEventRecord(c));
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, c));
    OK(cudaEventQuery(b));
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    int v = 0;
    OK(cudaLaunchHostFunc(s, hosted, &v));
    OK(cudaStreamAddCallback(s, called, 0, 0));
    OK(cudaStreamSynchronize(s));
    TRUE(v == 5 && ran[0] == 1 && ran[1] == 1);
    int least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    TRUE(least == 0 && greatest < 0);
    cudaStream_t t;
    OK(cudaStreamCreateWithPriority(&t, cudaStreamNonBlocking, greatest));
    int pr;
    OK(cudaStreamGetPriority(t, &pr));
    TRUE(pr == greatest);
    unsigned fl;
    OK(cudaStreamGetFlags(t, &fl));
    TRUE(fl == cudaStreamNonBlocking);
    unsigned long long id;
    OK(cudaStreamGetId(t, &id));
    cudaStreamAttrValue av = {}, aw = {};
    av.accessPolicyWindow.base_ptr = p;
    av.accessPolicyWindow.num_bytes = 4096;
    av.accessPolicyWindow.hitRatio = 1;
    OK(cudaStreamSetAttribute(t, cudaStreamAttributeAccessPolicyWindow, &av));
    OK(cudaStreamGetAttribute(t, cudaStreamAttributeAccessPolicyWindow, &aw));
    TRUE(aw.accessPolicyWindow.base_ptr == p);
    OK(cudaStreamWaitEvent(t, b, 0));
    OK(cudaStreamQuery(t));
    OK(cudaStreamDestroy(t));
    OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(c));
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
    OK(cudaFree(p));
}
static void symbols()
{
    int h[64], g[64];
    for (int i = 0; i < 64; i++)
        h[i] = i * i;
    OK(cudaMemcpyToSymbol(table, h, sizeof h));
    int *p;
    OK(cudaMalloc(&p, 256));
    usetable<<<1, 64>>>(p);
    OK(cudaMemcpy(g, p, 256, cudaMemcpyDeviceToHost));
    TRUE(!memcmp(g, h, 256));
    int c;
    OK(cudaMemcpyFromSymbol(&c, counter, 4));
    TRUE(c == 64);
    void *at;
    OK(cudaGetSymbolAddress(&at, counter));
    size_t n;
    OK(cudaGetSymbolSize(&n, counter));
    TRUE(n == 16);
    IS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&wrong, h, 4));
    IS(cudaErrorInvalidValue, cudaMemcpyToSymbol(counter, h, 17, 0));
    OK(cudaFree(p));
}
static void entry()
{
    typedef CUresult (*Count)(int *);
    Count f;
    cudaDriverEntryPointQueryResult q;
    OK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&f, 12000, cudaEnableDefault,
                                        &q));
    TRUE(q == cudaDriverEntryPointSuccess);
    int n = 0;
    TRUE(f(&n) == 0 && n == 1);
    void *none = &n;
    OK(cudaGetDriverEntryPointByVersion("cuNoSuch", &none, 12000, cudaEnableDefault, &q));
    TRUE(q == cudaDriverEntryPointSymbolNotFound && none == 0);
    OK(cudaGetDriverEntryPointByVersion("cuStreamGetCaptureInfo", &none, 9000, cudaEnableDefault,
                                        &q));
    TRUE(q == cudaDriverEntryPointVersionNotSufficent);
}
static void devices()
{
    int *p, n = -1;
    OK(cudaMalloc(&p, 64));
    OK(cudaGetDeviceCount(&n));
    TRUE(n == 1);
    IS(cudaErrorInvalidDevice, cudaSetDevice(1));
    IS(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&n, 0, 1));
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
    IS(cudaErrorInvalidDevice, cudaMemcpyPeer(p, 0, p + 8, 1, 32));
    OK(cudaMemcpyPeer(p, 0, p + 8, 0, 32));
    OK(cudaFree(p));
}
static void batches()
{
    // 4 rows of 3 bytes into the second layer of a volume, and back row by row.
    unsigned char from[12], back[12] = {};
    for (int n = 0; n < 12; n++)
        from[n] = n + 1;
    unsigned char *p;
    OK(cudaMalloc(&p, 2 * 5 * 8));
    OK(cudaMemset(p, 0, 2 * 5 * 8));
    cudaMemcpy3DBatchOp ops[2] = {};
    cudaMemcpy3DOperand *in = &ops[0].src, *out = &ops[0].dst;
    in->type = out->type = cudaMemcpyOperandTypePointer;
    in->op.ptr.ptr = from;
    out->op.ptr.ptr = p + 5 * 8;
    out->op.ptr.rowLength = 8;
    out->op.ptr.layerHeight = 5;
    ops[0].extent = {3, 4, 1};
    ops[1] = ops[0];
    ops[1].src = *out;
    ops[1].dst = *in;
    ops[1].dst.op.ptr.ptr = back;
#if CUDART_VERSION >= 13000
    OK(cudaMemcpy3DBatchAsync(2, ops, 0, 0));
#else
    size_t failed = 9;
    OK(cudaMemcpy3DBatchAsync(2, ops, &failed, 0, 0));
    ops[1].extent.width = 0;
    IS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(2, ops, &failed, 0, 0));
    TRUE(failed == 1);
#endif
    TRUE(!memcmp(from, back, 12));
    unsigned char all[80];
    OK(cudaMemcpy(all, p, 80, cudaMemcpyDefault));
    TRUE(all[40] == 1 && all[43] == 0 && all[48] == 4 && all[39] == 0);
    // The same rows as elements of an array.
    cudaArray_t array;
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    OK(cudaMallocArray(&array, &bytes, 3, 4));
    ops[0].dst.type = ops[1].src.type = cudaMemcpyOperandTypeArray;
    ops[0].dst.op.array.array = ops[1].src.op.array.array = array;
    ops[0].dst.op.array.offset = ops[1].src.op.array.offset = {0, 0, 0};
    ops[0].extent = ops[1].extent = {3, 4, 1};
    memset(back, 0, 12);
#if CUDART_VERSION >= 13000
    OK(cudaMemcpy3DBatchAsync(2, ops, 0, 0));
#else
    OK(cudaMemcpy3DBatchAsync(2, ops, nullptr, 0, 0));
#endif
    TRUE(!memcmp(from, back, 12));
    OK(cudaFreeArray(array));
    OK(cudaFree(p));
    // What nvcc gives host code.
    TRUE(min(3, 4u) == 3 && max(-1L, 2L) == 2 && max(1.5f, 2.5) == 2.5 && min(7ull, 9ull) == 7);
    TRUE(rsqrtf(4.0f) == 0.5f && max(__builtin_nanf(""), 1.0f) == 1.0f);
    // The library's own attribute of this name, beside CUDA's keyword.
    TRUE(*std::make_shared<int>(7) == 7);
}
int main()
{
    attributes();
    devices();
    batches();
    pools();
    managed();
    copies();
    events();
    symbols();
    entry();
    printf("%d wrong\n", wrong);
    return wrong;
}
