/* What the driver's and the runtime's functions share beyond the channel. */
#ifndef GPUDBG_STATE_H
#define GPUDBG_STATE_H

#include "host.h"

struct place {
    uint32_t offset, size;
};

struct layout {
    uint64_t function;
    uint32_t count, bytes;
    struct place *places;
    char *name;
    struct layout *next;
};

/* CUDA_MEMCPY3D, which every copy of rows becomes. */
struct box_side {
    uint64_t x, y, z, level;
    uint32_t kind, padding;
    uint64_t host, device, array, reserved, pitch, height;
};
struct box {
    struct box_side from, to;
    uint64_t width, height, depth;
};
enum { IN_HOST = 1, IN_DEVICE = 2, IN_ARRAY = 3, IN_EITHER = 4 };

struct shape {
    uint32_t grid[3], block[3], shared, cooperative, cluster[3], padding;
    uint64_t stream;
};

/* cudaMemcpy3DParms */
struct pitched {
    uint64_t at;
    size_t pitch, width, height;
};
struct position {
    size_t x, y, z;
};
struct extent {
    size_t width, height, depth;
};
struct copy3 {
    uint64_t from_array;
    struct position from_at;
    struct pitched from;
    uint64_t to_array;
    struct position to_at;
    struct pitched to;
    struct extent extent;
    int kind;
};

/* CUstreamBatchMemOpParams */
struct stream_operation {
    uint32_t kind, padding;
    uint64_t address, value;
    uint32_t flags, more;
    uint64_t alias, reserved;
};
enum { WAIT_32 = 1, WRITE_32 = 2, WAIT_64 = 4, WRITE_64 = 5 };

struct node;
struct graph;

LOCAL extern int host_initialized;
LOCAL extern int host_shared_file;
LOCAL int host_copy_bytes(uint64_t to, uint64_t from, uint64_t size);
LOCAL int host_copy_box(struct box *);
LOCAL int host_operations(unsigned count, const struct stream_operation *);
LOCAL int host_start(uint64_t function, struct shape *, void **params, void **extra);
LOCAL int host_gather(uint64_t function, void **params, void **extra, char **bytes, size_t *size);
LOCAL int host_pointers(uint64_t function, char *bytes, void ***params);
LOCAL int host_box_of(const struct copy3 *, struct box *);
LOCAL int graph_add_copy(struct node **, struct graph *, struct node *const *after, size_t count,
                         const struct box *);
LOCAL int graph_set_copy(struct graph *instance, struct node *, const struct box *);
LOCAL int host_load_image(uint64_t *module, const void *image);
LOCAL uint64_t host_image_size(const void *image);
LOCAL int host_take_shared(uint64_t *address, uint64_t size, uint32_t kind, uint32_t flags);
LOCAL int host_register_range(void *address, uint64_t size, uint32_t flags);
LOCAL int host_unregister_range(void *address);
LOCAL uint64_t host_numbers(unsigned rank, unsigned less, unsigned bytes);
LOCAL int host_attribute_bytes(int attribute);
LOCAL const char *host_error_name(int code, int runtime);
LOCAL const char *host_error_words(int code);
LOCAL int host_take_attributes(struct shape *, const void *attributes, unsigned count);

LOCAL int runtime_function(uint64_t host, uint64_t *function);
LOCAL int runtime_symbol(uint64_t host, uint64_t *address);
LOCAL int runtime_part(uint64_t symbol, size_t size, size_t offset, uint64_t *address);

#endif
