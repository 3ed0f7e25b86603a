/* Copies in batches, and what CUDA 13 has beside the calls of CUDA 12: copies with attributes,
   host functions with a mode, batches of hints.  Work is done in order, so attributes that say
   when a source may be read, and where memory should lie, change nothing. */
#include "graphs.h"
#include "state.h"
#include "calls.h"

int cuMemcpyAsync(uint64_t, uint64_t, size_t, uint64_t);
int cuLaunchHostFunc(uint64_t, void (*)(void *), void *);

/* CUmemcpy3DOperand and cudaMemcpy3DOperand */
struct operand {
    uint32_t kind, padding;
    union {
        struct {
            uint64_t address;
            size_t row, rows; /* elements of a row, rows of a layer; 0: as the extent has it */
            uint64_t location;
        } pointer;
        struct {
            uint64_t array;
            struct position at;
        } array;
    };
};
enum { POINTER = 1, ARRAY = 2 };

/* CUDA_MEMCPY3D_BATCH_OP and cudaMemcpy3DBatchOp */
struct batch_copy {
    struct operand from, to;
    struct extent extent;
    uint32_t order, flags;
};

static int operand_fits(const struct operand *operand)
{
    return operand->kind == ARRAY ? operand->array.array != 0
                                  : operand->kind == POINTER && operand->pointer.address != 0;
}

static struct pitched rows_of(const struct operand *operand, const struct extent *extent,
                              size_t element)
{
    size_t row = operand->pointer.row ? operand->pointer.row : extent->width;
    size_t rows = operand->pointer.rows ? operand->pointer.rows : extent->height;
    return (struct pitched){operand->pointer.address, row * element, row * element, rows};
}

static int copy_of(const struct batch_copy *given, struct box *box)
{
    struct copy3 copy = {.extent = given->extent};
    uint32_t element = 1;
    uint64_t row, array;
    if (!operand_fits(&given->from) || !operand_fits(&given->to))
        return STATUS_INVALID_VALUE;
    if (!given->extent.width || !given->extent.height || !given->extent.depth)
        return STATUS_INVALID_VALUE;
    array = given->from.kind == ARRAY ? given->from.array.array
            : given->to.kind == ARRAY ? given->to.array.array
                                      : 0;
    if (array) {
        int status = host_element(&element, &row, array);
        if (status)
            return status;
    }
    if (given->from.kind == ARRAY) {
        copy.from_array = given->from.array.array;
        copy.from_at = given->from.array.at;
    } else
        copy.from = rows_of(&given->from, &given->extent, element);
    if (given->to.kind == ARRAY) {
        copy.to_array = given->to.array.array;
        copy.to_at = given->to.array.at;
    } else
        copy.to = rows_of(&given->to, &given->extent, element);
    return host_box_of(&copy, box);
}

EXPORT int cuMemcpy3DWithAttributesAsync(const struct batch_copy *given, uint64_t flags,
                                         uint64_t stream)
{
    struct box box;
    int status = given == NULL || flags ? STATUS_INVALID_VALUE : copy_of(given, &box);
    if (!status && !capture_box(stream, &box, &status))
        status = host_copy_box(&box);
    return status;
}

EXPORT int cuMemcpy3DBatchAsync(size_t count, const struct batch_copy *list, size_t *failed,
                                uint64_t flags, uint64_t stream)
{
    int status = count && list == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
    for (size_t n = 0; n < count && !status; n++)
        if ((status = cuMemcpy3DWithAttributesAsync(&list[n], flags, stream)) && failed != NULL)
            *failed = n;
    return status;
}

EXPORT int cuMemcpy3DBatchAsync_v2(size_t count, const struct batch_copy *list, uint64_t flags,
                                   uint64_t stream)
{
    return cuMemcpy3DBatchAsync(count, list, NULL, flags, stream);
}

EXPORT int cuMemcpyWithAttributesAsync(uint64_t to, uint64_t from, size_t size,
                                       const void *attributes, uint64_t stream)
{
    return attributes == NULL ? STATUS_INVALID_VALUE : cuMemcpyAsync(to, from, size, stream);
}

EXPORT int cuLaunchHostFunc_v2(uint64_t stream, void (*function)(void *), void *data,
                               unsigned mode)
{
    return cuLaunchHostFunc(stream, function, data);
}

EXPORT int cuStreamGetCtx_v2(uint64_t stream, uint64_t *context, uint64_t *green)
{
    int status = cuStreamGetCtx(stream, context);
    if (!status && green != NULL)
        *green = 0; /* no stream is of a green context */
    return status;
}

/* Which location a range goes to: each serves from its own index to the next one's. */
EXPORT int cuMemPrefetchBatchAsync(const uint64_t *addresses, const size_t *sizes, size_t count,
                                   const uint64_t *locations, const size_t *first, size_t kinds,
                                   uint64_t flags, uint64_t stream)
{
    int status = STATUS_OK;
    size_t kind = 0;
    if (!count || !kinds || kinds > count || addresses == NULL || sizes == NULL ||
        locations == NULL || first == NULL || first[0] != 0 || flags)
        return STATUS_INVALID_VALUE;
    for (size_t n = 0; n < count && !status; n++) {
        if (kind + 1 < kinds && n >= first[kind + 1])
            kind++;
        status = cuMemPrefetchAsync_v2(addresses[n], sizes[n], locations[kind], 0, stream);
    }
    return status;
}

/* What is discarded has no contents until it is written: that it keeps the old ones is allowed. */
EXPORT int cuMemDiscardBatchAsync(const uint64_t *addresses, const size_t *sizes, size_t count,
                                  uint64_t flags, uint64_t stream)
{
    return !count || addresses == NULL || sizes == NULL || flags ? STATUS_INVALID_VALUE : STATUS_OK;
}

EXPORT int cuMemDiscardAndPrefetchBatchAsync(const uint64_t *addresses, const size_t *sizes,
                                             size_t count, const uint64_t *locations,
                                             const size_t *first, size_t kinds, uint64_t flags,
                                             uint64_t stream)
{
    return cuMemPrefetchBatchAsync(addresses, sizes, count, locations, first, kinds, flags, stream);
}

/* ---- the runtime's ----------------------------------------------------------------------- */

#define RUNTIME(call)                                                                              \
    int entered = runtime_enter();                                                                 \
    return runtime_status(entered ? entered : (call))

EXPORT int cudaMemcpy3DBatchAsync(size_t count, const struct batch_copy *list, size_t *failed,
                                  uint64_t flags, uint64_t stream)
{
    RUNTIME(cuMemcpy3DBatchAsync(count, list, failed, flags, stream));
}

/* As CUDA 13 has it. */
EXPORT int cudaMemcpy3DBatchAsync_13(size_t count, const struct batch_copy *list, uint64_t flags,
                                     uint64_t stream)
{
    return cudaMemcpy3DBatchAsync(count, list, NULL, flags, stream);
}

EXPORT int cudaMemcpy3DWithAttributesAsync(const struct batch_copy *given, uint64_t flags,
                                           uint64_t stream)
{
    RUNTIME(cuMemcpy3DWithAttributesAsync(given, flags, stream));
}

EXPORT int cudaMemcpyWithAttributesAsync(uint64_t to, uint64_t from, size_t size,
                                         const void *attributes, uint64_t stream)
{
    RUNTIME(cuMemcpyWithAttributesAsync(to, from, size, attributes, stream));
}

EXPORT int cudaLaunchHostFunc_v2(uint64_t stream, void (*function)(void *), void *data,
                                 unsigned mode)
{
    RUNTIME(cuLaunchHostFunc(stream, function, data));
}

EXPORT int cudaMemPrefetchBatchAsync(const uint64_t *addresses, const size_t *sizes, size_t count,
                                     const uint64_t *locations, const size_t *first, size_t kinds,
                                     uint64_t flags, uint64_t stream)
{
    RUNTIME(cuMemPrefetchBatchAsync(addresses, sizes, count, locations, first, kinds, flags,
                                    stream));
}

EXPORT int cudaMemDiscardBatchAsync(const uint64_t *addresses, const size_t *sizes, size_t count,
                                    uint64_t flags, uint64_t stream)
{
    RUNTIME(cuMemDiscardBatchAsync(addresses, sizes, count, flags, stream));
}

EXPORT int cudaMemDiscardAndPrefetchBatchAsync(const uint64_t *addresses, const size_t *sizes,
                                               size_t count, const uint64_t *locations,
                                               const size_t *first, size_t kinds, uint64_t flags,
                                               uint64_t stream)
{
    RUNTIME(cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, count, locations, first, kinds,
                                              flags, stream));
}
