/* Graphs and captures in the runtime API: the driver's functions, and copies as this API has them. */
#include "calls.h"
#include "state.h"

#include <string.h>

/* The same parameters in registers, whatever they are. */
typedef int any_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
#define SAME(name, driver)                                                                         \
    extern any_function driver;                                                                    \
    EXPORT int name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)        \
    {                                                                                              \
        int status = runtime_enter();                                                              \
        return runtime_status(status ? status : driver(a, b, c, d, e, f));                         \
    }

SAME(cudaGraphCreate, cuGraphCreate)
SAME(cudaGraphDestroy, cuGraphDestroy)
SAME(cudaGraphClone, cuGraphClone)
SAME(cudaGraphNodeFindInClone, cuGraphNodeFindInClone)
SAME(cudaGraphNodeGetType, cuGraphNodeGetType)
SAME(cudaGraphGetNodes, cuGraphGetNodes)
SAME(cudaGraphGetRootNodes, cuGraphGetRootNodes)
SAME(cudaGraphGetEdges, cuGraphGetEdges)
SAME(cudaGraphGetEdges_v2, cuGraphGetEdges_v2)
SAME(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies)
SAME(cudaGraphNodeGetDependencies_v2, cuGraphNodeGetDependencies_v2)
SAME(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes)
SAME(cudaGraphNodeGetDependentNodes_v2, cuGraphNodeGetDependentNodes_v2)
SAME(cudaGraphAddDependencies, cuGraphAddDependencies)
SAME(cudaGraphAddDependencies_v2, cuGraphAddDependencies_v2)
SAME(cudaGraphRemoveDependencies, cuGraphRemoveDependencies)
SAME(cudaGraphRemoveDependencies_v2, cuGraphRemoveDependencies_v2)
SAME(cudaGraphDestroyNode, cuGraphDestroyNode)
SAME(cudaGraphDebugDotPrint, cuGraphDebugDotPrint)
SAME(cudaGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute)
SAME(cudaGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute)
SAME(cudaGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes)
SAME(cudaGraphAddMemsetNode, cuGraphAddMemsetNode)
SAME(cudaGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams)
SAME(cudaGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams)
SAME(cudaGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams)
SAME(cudaGraphAddHostNode, cuGraphAddHostNode)
SAME(cudaGraphHostNodeGetParams, cuGraphHostNodeGetParams)
SAME(cudaGraphHostNodeSetParams, cuGraphHostNodeSetParams)
SAME(cudaGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams)
SAME(cudaGraphAddEmptyNode, cuGraphAddEmptyNode)
SAME(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode)
SAME(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph)
SAME(cudaGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams)
SAME(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode)
SAME(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode)
SAME(cudaGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent)
SAME(cudaGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent)
SAME(cudaGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent)
SAME(cudaGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent)
SAME(cudaGraphAddMemAllocNode, cuGraphAddMemAllocNode)
SAME(cudaGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams)
SAME(cudaGraphAddMemFreeNode, cuGraphAddMemFreeNode)
SAME(cudaGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams)
SAME(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)
SAME(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams)
SAME(cudaGraphExecDestroy, cuGraphExecDestroy)
SAME(cudaGraphExecGetFlags, cuGraphExecGetFlags)
SAME(cudaGraphUpload, cuGraphUpload)
SAME(cudaGraphLaunch, cuGraphLaunch)
SAME(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled)
SAME(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled)
SAME(cudaGraphRetainUserObject, cuGraphRetainUserObject)
SAME(cudaGraphReleaseUserObject, cuGraphReleaseUserObject)
SAME(cudaGraphInstantiate, cuGraphInstantiateWithFlags)
SAME(cudaGraphExecUpdate, cuGraphExecUpdate_v2)
SAME(cudaStreamBeginCapture, cuStreamBeginCapture_v2)
SAME(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph)
SAME(cudaStreamEndCapture, cuStreamEndCapture)
SAME(cudaStreamIsCapturing, cuStreamIsCapturing)
SAME(cudaStreamGetCaptureInfo, cuStreamGetCaptureInfo)
SAME(cudaStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2)
SAME(cudaStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3)
SAME(cudaStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies)
SAME(cudaStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2)
SAME(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)
SAME(cudaStreamSynchronize, cuStreamSynchronize)
SAME(cudaStreamQuery, cuStreamQuery)
SAME(cudaStreamWaitEvent, cuStreamWaitEvent)
SAME(cudaEventRecord, cuEventRecord)
SAME(cudaEventRecordWithFlags, cuEventRecordWithFlags)
SAME(cudaFreeAsync, cuMemFreeAsync)
SAME(cudaUserObjectCreate, cuUserObjectCreate)
SAME(cudaUserObjectRetain, cuUserObjectRetain)
SAME(cudaUserObjectRelease, cuUserObjectRelease)

SAME(cudaGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent)
SAME(cudaGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent)

extern int cuGraphConditionalHandleCreate(uint64_t *, struct graph *, uint64_t, unsigned, unsigned);

EXPORT int cudaGraphConditionalHandleCreate(uint64_t *handle, struct graph *graph, unsigned value,
                                            unsigned flags)
{
    int status = runtime_enter();
    return runtime_status(status ? status
                                 : cuGraphConditionalHandleCreate(handle, graph, 0, value, flags));
}

static int add_copy(struct node **made, struct graph *graph, struct node *const *after,
                    size_t count, const struct copy3 *copy)
{
    struct box box;
    int status = runtime_enter();
    if (!status)
        status = host_box_of(copy, &box);
    return status ? status : graph_add_copy(made, graph, after, count, &box);
}

EXPORT int cudaGraphAddMemcpyNode(struct node **made, struct graph *graph,
                                  struct node *const *after, size_t count,
                                  const struct copy3 *copy)
{
    return runtime_status(add_copy(made, graph, after, count, copy));
}

static struct box flat(uint64_t to, uint64_t from, size_t size)
{
    struct box_side there = {.kind = IN_EITHER, .device = to};
    struct box_side here = {.kind = IN_EITHER, .device = from};
    return (struct box){here, there, size, 1, 1};
}

EXPORT int cudaGraphAddMemcpyNode1D(struct node **made, struct graph *graph,
                                    struct node *const *after, size_t count, uint64_t to,
                                    uint64_t from, size_t size, int kind)
{
    struct box box = flat(to, from, size);
    return runtime_status(graph_add_copy(made, graph, after, count, &box));
}

EXPORT int cudaGraphAddMemcpyNodeToSymbol(struct node **made, struct graph *graph,
                                          struct node *const *after, size_t count, uint64_t symbol,
                                          uint64_t from, size_t size, size_t offset, int kind)
{
    uint64_t address;
    int status = runtime_enter();
    if (!status)
        status = runtime_part(symbol, size, offset, &address);
    struct box box = flat(address, from, size);
    return runtime_status(status ? status : graph_add_copy(made, graph, after, count, &box));
}

EXPORT int cudaGraphAddMemcpyNodeFromSymbol(struct node **made, struct graph *graph,
                                            struct node *const *after, size_t count, uint64_t to,
                                            uint64_t symbol, size_t size, size_t offset, int kind)
{
    uint64_t address;
    int status = runtime_enter();
    if (!status)
        status = runtime_part(symbol, size, offset, &address);
    struct box box = flat(to, address, size);
    return runtime_status(status ? status : graph_add_copy(made, graph, after, count, &box));
}

static int set_symbol_copy(struct graph *instance, struct node *node, uint64_t symbol,
                           uint64_t other, size_t size, size_t offset, int to_symbol)
{
    uint64_t address;
    int status = runtime_part(symbol, size, offset, &address);
    struct box box = to_symbol ? flat(address, other, size) : flat(other, address, size);
    return runtime_status(status ? status : graph_set_copy(instance, node, &box));
}

EXPORT int cudaGraphMemcpyNodeSetParamsToSymbol(struct node *node, uint64_t symbol, uint64_t from,
                                                size_t size, size_t offset, int kind)
{
    return set_symbol_copy(NULL, node, symbol, from, size, offset, 1);
}

EXPORT int cudaGraphMemcpyNodeSetParamsFromSymbol(struct node *node, uint64_t to, uint64_t symbol,
                                                  size_t size, size_t offset, int kind)
{
    return set_symbol_copy(NULL, node, symbol, to, size, offset, 0);
}

EXPORT int cudaGraphExecMemcpyNodeSetParamsToSymbol(struct graph *instance, struct node *node,
                                                    uint64_t symbol, uint64_t from, size_t size,
                                                    size_t offset, int kind)
{
    return set_symbol_copy(instance, node, symbol, from, size, offset, 1);
}

EXPORT int cudaGraphExecMemcpyNodeSetParamsFromSymbol(struct graph *instance, struct node *node,
                                                      uint64_t to, uint64_t symbol, size_t size,
                                                      size_t offset, int kind)
{
    return set_symbol_copy(instance, node, symbol, to, size, offset, 0);
}

static int set_copy(struct graph *instance, struct node *node, const struct copy3 *copy)
{
    struct box box;
    int status = host_box_of(copy, &box);
    return runtime_status(status ? status : graph_set_copy(instance, node, &box));
}

EXPORT int cudaGraphMemcpyNodeSetParams(struct node *node, const struct copy3 *copy)
{
    return set_copy(NULL, node, copy);
}

EXPORT int cudaGraphExecMemcpyNodeSetParams(struct graph *instance, struct node *node,
                                            const struct copy3 *copy)
{
    return set_copy(instance, node, copy);
}

EXPORT int cudaGraphMemcpyNodeSetParams1D(struct node *node, uint64_t to, uint64_t from,
                                          size_t size, int kind)
{
    struct box box = flat(to, from, size);
    return runtime_status(graph_set_copy(NULL, node, &box));
}

EXPORT int cudaGraphExecMemcpyNodeSetParams1D(struct graph *instance, struct node *node,
                                              uint64_t to, uint64_t from, size_t size, int kind)
{
    struct box box = flat(to, from, size);
    return runtime_status(graph_set_copy(instance, node, &box));
}

extern int cuGraphMemcpyNodeGetParams(struct node *, struct box *);
extern int cudaGraphAddKernelNode(), cuGraphAddNode(struct node **, struct graph *,
                                                    struct node *const *, size_t, void *);

static struct pitched shown(const struct box_side *side)
{
    uint64_t at = side->kind == IN_HOST ? side->host : side->device;
    return (struct pitched){at, side->pitch, side->pitch, side->height};
}

EXPORT int cudaGraphMemcpyNodeGetParams(struct node *node, struct copy3 *copy)
{
    struct box box;
    uint32_t texel = 1;
    uint64_t row;
    int status = cuGraphMemcpyNodeGetParams(node, &box);
    if (!status && (box.from.array || box.to.array))
        status = host_element(&texel, &row, box.from.array ? box.from.array : box.to.array);
    *copy = (struct copy3){box.from.array,
                           {box.from.x / (box.from.array ? texel : 1), box.from.y, box.from.z},
                           shown(&box.from),
                           box.to.array,
                           {box.to.x / (box.to.array ? texel : 1), box.to.y, box.to.z},
                           shown(&box.to),
                           {box.width / texel, box.height, box.depth},
                           4};
    return runtime_status(status);
}

struct any_params {
    int kind, reserved[3];
    union {
        struct {
            int flags, reserved[3];
            struct copy3 copy;
        } copy;
        char bytes[232];
    } of;
};

EXPORT int cudaGraphAddNode(struct node **made, struct graph *graph, struct node *const *after,
                            size_t count, struct any_params *params)
{
    int status = runtime_enter();
    if (status)
        return runtime_status(status);
    if (params->kind == 0)
        return cudaGraphAddKernelNode(made, graph, after, count, &params->of);
    if (params->kind == 1)
        return runtime_status(add_copy(made, graph, after, count, &params->of.copy.copy));
    return runtime_status(cuGraphAddNode(made, graph, after, count, params));
}

EXPORT int cudaGraphAddNode_v2(struct node **made, struct graph *graph, struct node *const *after,
                               const void *edges, size_t count, struct any_params *params)
{
    return cudaGraphAddNode(made, graph, after, count, params);
}

extern int cudaGraphKernelNodeSetParams(), cudaGraphExecKernelNodeSetParams();
extern int cuGraphNodeSetParams(struct node *, void *);
extern int cuGraphExecNodeSetParams(struct graph *, struct node *, void *);

EXPORT int cudaGraphNodeSetParams(struct node *node, struct any_params *params)
{
    if (params->kind == 0)
        return cudaGraphKernelNodeSetParams(node, &params->of);
    if (params->kind == 1)
        return set_copy(NULL, node, &params->of.copy.copy);
    return runtime_status(cuGraphNodeSetParams(node, params));
}

EXPORT int cudaGraphExecNodeSetParams(struct graph *instance, struct node *node,
                                      struct any_params *params)
{
    if (params->kind == 0)
        return cudaGraphExecKernelNodeSetParams(instance, node, &params->of);
    if (params->kind == 1)
        return set_copy(instance, node, &params->of.copy.copy);
    return runtime_status(cuGraphExecNodeSetParams(instance, node, params));
}
