/* What streams, launches and copies ask of captures (graphs.c). */
#ifndef GPUDBG_GRAPHS_H
#define GPUDBG_GRAPHS_H

#include "state.h"

struct fill {
    uint64_t to, pitch;
    uint32_t value, width;
    uint64_t across, rows; /* elements of a row, rows: CUDA_MEMSET_NODE_PARAMS */
};

/* Each gives 0 where the stream is not being captured: then the caller does the work itself; else
   1, and the work is a node, or `*status` says why not. */
LOCAL int capture_kernel(uint64_t function, const struct shape *, const void *params, size_t size,
                         int *status);
LOCAL int capture_box(uint64_t stream, const struct box *, int *status);
LOCAL int capture_copy(uint64_t stream, uint64_t to, uint64_t from, uint64_t size, int *status);
LOCAL int capture_fill(uint64_t stream, const struct fill *, int *status);
LOCAL int capture_host(uint64_t stream, void (*function)(void *), void *data, int *status);
LOCAL int capture_operations(uint64_t stream, unsigned count, const struct stream_operation *,
                             int *status);
LOCAL int capture_free(uint64_t stream, uint64_t address, int *status);

#endif
