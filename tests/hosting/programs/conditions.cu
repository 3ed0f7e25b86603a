// Graphs with conditions, updates and memory operations.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
static int wrong;
#define OK(call)                                                                                   \
    do {                                                                                           \
        int e_ = (int)(call);                                                                      \
        if (e_) {                                                                                  \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName((cudaError_t)e_));       \
            wrong++;                                                                               \
            cudaGetLastError();                                                                    \
        }                                                                                          \
    } while (0)
#define IS(want, call)                                                                             \
    do {                                                                                           \
        int e_ = (int)(call);                                                                      \
        if (e_ != (int)(want)) {                                                                   \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName((cudaError_t)e_));       \
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
#define ADD(node, graph, after, count, params)                                                     \
    cudaGraphAddNode(node, graph, after, 0, count, params)
#else
#define ADD(node, graph, after, count, params) cudaGraphAddNode(node, graph, after, count, params)
#endif
__global__ void add(int *p, int v) { *p += v; }
__global__ void mul(int *p, int v) { *p *= v; }
__global__ void down(int *n, cudaGraphConditionalHandle h) { cudaGraphSetConditional(h, --*n > 0); }
__global__ void choose(int *n, cudaGraphConditionalHandle h) { cudaGraphSetConditional(h, *n); }
__device__ int symbol;
static int *d;
static int get(int *p)
{
    int v;
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    return v;
}
static void put(int *p, int v) { OK(cudaMemcpy(p, &v, 4, cudaMemcpyHostToDevice)); }
static cudaGraphNode_t kernelNode(cudaGraph_t g, cudaGraphNode_t after, void *f, void **args)
{
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = f;
    p.kernel.gridDim = dim3(1);
    p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = args;
    cudaGraphNode_t n;
    OK(ADD(&n, g, after ? &after : 0, after ? 1 : 0, &p));
    return n;
}
static void loops()
{
    // while: n times d += 3
    int *n;
    OK(cudaMalloc(&n, 4));
    put(n, 5);
    put(d, 0);
    cudaGraph_t g;
    OK(cudaGraphCreate(&g, 0));
    cudaGraphConditionalHandle h;
    OK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
    cudaGraphNode_t w;
    OK(ADD(&w, g, 0, 0, &p));
    cudaGraph_t body = p.conditional.phGraph_out[0];
    int three = 3;
    void *a2[] = {&n, &h};
    // the body by capture to the graph
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCaptureToGraph(s, body, 0, 0, 0, cudaStreamCaptureModeRelaxed));
    add<<<1, 1, 0, s>>>(d, three);
    down<<<1, 1, 0, s>>>(n, h);
    cudaGraph_t same;
    OK(cudaStreamEndCapture(s, &same));
    TRUE(same == body);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(w, &type));
    TRUE(type == cudaGraphNodeTypeConditional);
    cudaGraphExec_t e;
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    TRUE(get(d) == 15 && get(n) == 0);
    put(n, 2);
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    TRUE(get(d) == 21);
    OK(cudaGraphExecDestroy(e));
    // if / else and switch
    for (int kind = 0; kind < 2; kind++) {
        OK(cudaGraphCreate(&g, 0));
        OK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
        cudaGraphNode_t first = kernelNode(g, 0, (void *)choose, a2);
        cudaGraphNodeParams q = {};
        q.type = cudaGraphNodeTypeConditional;
        q.conditional.handle = h;
        q.conditional.type = kind ? cudaGraphCondTypeSwitch : cudaGraphCondTypeIf;
        q.conditional.size = kind ? 3 : 2;
        OK(ADD(&w, g, &first, 1, &q));
        int v[3] = {100, 200, 300};
        for (unsigned b = 0; b < q.conditional.size; b++) {
            void *args[] = {&d, &v[b]};
            kernelNode(q.conditional.phGraph_out[b], 0, (void *)add, args);
        }
        OK(cudaGraphInstantiate(&e, g, 0));
        int want[2][4] = {{200, 100, 100, 100}, {100, 200, 300, 0}};
        for (int i = 0; i < 4; i++) {
            put(n, i);
            put(d, 0);
            OK(cudaGraphLaunch(e, s));
            TRUE(get(d) == want[kind][i]);
        }
        OK(cudaGraphExecDestroy(e));
        OK(cudaGraphDestroy(g));
    }
    OK(cudaFree(n));
    OK(cudaStreamDestroy(s));
}
static void updates()
{
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    cudaGraph_t g, g2;
    cudaGraphExec_t e;
    put(d, 1);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, s>>>(d, 2);
    mul<<<1, 1, 0, s>>>(d, 5);
    OK(cudaStreamEndCapture(s, &g));
    TRUE(get(d) == 1);
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, s));
    TRUE(get(d) == 15);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, s>>>(d, 7);
    mul<<<1, 1, 0, s>>>(d, 2);
    OK(cudaStreamEndCapture(s, &g2));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(e, g2, &info));
    TRUE(info.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(e, s));
    TRUE(get(d) == 44);
    cudaGraph_t g3;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, s>>>(d, 7);
    OK(cudaMemsetAsync(d, 0, 4, s));
    OK(cudaStreamEndCapture(s, &g3));
    IS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(e, g3, &info));
    TRUE(info.result == cudaGraphExecUpdateErrorNodeTypeChanged);
    cudaGraphNode_t nodes[4];
    size_t count = 4;
    OK(cudaGraphGetNodes(g2, nodes, &count));
    TRUE(count == 2);
    int v = 40;
    void *args[] = {&d, &v};
    cudaKernelNodeParams k = {};
    k.func = (void *)add;
    k.gridDim = dim3(1);
    k.blockDim = dim3(1);
    k.kernelParams = args;
    OK(cudaGraphExecKernelNodeSetParams(e, nodes[0], &k));
    put(d, 2);
    OK(cudaGraphLaunch(e, s));
    TRUE(get(d) == 84);
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeKernel;
    v = 1;
    any.kernel.func = (void *)add;
    any.kernel.gridDim = dim3(1);
    any.kernel.blockDim = dim3(1);
    any.kernel.kernelParams = args;
    OK(cudaGraphExecNodeSetParams(e, nodes[0], &any));
    put(d, 2);
    OK(cudaGraphLaunch(e, s));
    TRUE(get(d) == 6);
    // symbol copies
    cudaGraph_t g4;
    cudaGraphNode_t c;
    OK(cudaGraphCreate(&g4, 0));
    int one = 11, two = 12;
    OK(cudaGraphAddMemcpyNodeToSymbol(&c, g4, 0, 0, symbol, &one, 4, 0, cudaMemcpyHostToDevice));
    cudaGraphExec_t e4;
    OK(cudaGraphInstantiate(&e4, g4, 0));
    OK(cudaGraphLaunch(e4, s));
    int got;
    OK(cudaMemcpyFromSymbol(&got, symbol, 4));
    TRUE(got == 11);
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(e4, c, symbol, &two, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(e4, s));
    OK(cudaMemcpyFromSymbol(&got, symbol, 4));
    TRUE(got == 12);
    // allocation in a graph
    cudaGraph_t g5;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    int *m;
    OK(cudaMallocAsync(&m, 64, s));
    OK(cudaMemsetAsync(m, 1, 64, s));
    OK(cudaMemcpyAsync(d, m, 4, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(m, s));
    OK(cudaStreamEndCapture(s, &g5));
    OK(cudaGraphInstantiate(&e4, g5, 0));
    OK(cudaGraphLaunch(e4, s));
    OK(cudaGraphLaunch(e4, s));
    TRUE(get(d) == 0x01010101);
    uint64_t used = 7;
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    TRUE(used != 7);
    // events between two streams
    cudaStream_t t;
    OK(cudaStreamCreate(&t));
    cudaEvent_t fork, join;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    put(d, 1);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork, 0));
    add<<<1, 1, 0, t>>>(d, 2);
    OK(cudaEventRecord(join, t));
    OK(cudaStreamWaitEvent(s, join, 0));
    mul<<<1, 1, 0, s>>>(d, 3);
    OK(cudaStreamEndCapture(s, &g5));
    OK(cudaGraphInstantiate(&e4, g5, 0));
    OK(cudaGraphLaunch(e4, s));
    TRUE(get(d) == 9);
    // stream memory operations, as nodes and captured
    CUdeviceptr w = (CUdeviceptr)d;
    OK(cuStreamWriteValue32((CUstream)s, w, 77, 0));
    OK(cuStreamWaitValue32((CUstream)s, w, 77, CU_STREAM_WAIT_VALUE_EQ));
    TRUE(get(d) == 77);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cuStreamWriteValue32((CUstream)s, w, 78, 0));
    OK(cudaStreamEndCapture(s, &g5));
    TRUE(get(d) == 77);
    OK(cudaGraphInstantiate(&e4, g5, 0));
    OK(cudaGraphLaunch(e4, s));
    TRUE(get(d) == 78);
}
int main()
{
    OK(cudaMalloc(&d, 4));
    loops();
    updates();
    printf("%d wrong\n", wrong);
    return wrong;
}
