/* Functions of the runtime API that need more than a message: registered code, launches, copies. */
#define _GNU_SOURCE
#include "calls.h"
#include "graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIME_VERSION 12090
#define NEWEST_RUNTIME_VERSION 13000
#define INVALID_DEVICE_FUNCTION 98
#define INVALID_SYMBOL 13
#define INVALID_DIRECTION 21
#define INVALID_DEVICE 101
#define INVALID_CONFIGURATION 9

/* The driver's functions that are used here, by hand in driver.c. */
int cuInit(unsigned), cuDriverGetVersion(int *), cuCtxSetCurrent(uint64_t);
int cuDevicePrimaryCtxRetain(uint64_t *, int), cuDevicePrimaryCtxReset_v2(int);
int cuLaunchHostFunc(uint64_t, void (*)(void *), void *);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);

static __thread int last_error;
static pthread_mutex_t lock;

__attribute__((constructor)) static void prepare(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
}

int runtime_status(int status)
{
    if (status)
        last_error = status;
    return status;
}

int runtime_enter(void)
{
    uint64_t context;
    int status;
    if (host_context)
        return STATUS_OK;
    if ((status = cuInit(0)) || (status = cuDevicePrimaryCtxRetain(&context, 0)))
        return status;
    return cuCtxSetCurrent(context);
}

#define ENTER()                                                                                    \
    do {                                                                                           \
        int entered = runtime_enter();                                                             \
        if (entered)                                                                               \
            return runtime_status(entered);                                                        \
    } while (0)

/* ---- registered code --------------------------------------------------------------------- */

struct unit {
    const void *image;
    uint64_t module;
    int status; /* of loading; 0 while it has not been tried */
};

struct entry {
    const void *host;
    struct unit *unit;
    const char *name;
    uint64_t size;
    uint64_t function, address;
    int managed;
    struct entry *next;
};

#define BUCKETS 1024
static struct entry *kernels[BUCKETS], *variables[BUCKETS];

static unsigned bucket(const void *host)
{
    return (uintptr_t)host / 8 % BUCKETS;
}

static struct entry *find(struct entry **table, const void *host)
{
    struct entry *at = table[bucket(host)];
    while (at != NULL && at->host != host)
        at = at->next;
    return at;
}

static struct entry *enter(struct entry **table, const void *host, struct unit *unit,
                           const char *name, uint64_t size)
{
    struct entry *made = calloc(1, sizeof *made);
    *made = (struct entry){.host = host, .unit = unit, .name = name, .size = size};
    pthread_mutex_lock(&lock);
    made->next = table[bucket(host)];
    table[bucket(host)] = made;
    pthread_mutex_unlock(&lock);
    return made;
}

static int load(struct unit *unit)
{
    if (!unit->module && !unit->status)
        unit->status = host_load_image(&unit->module, unit->image);
    return unit->status;
}

struct wrapper {
    uint32_t magic, version;
    const void *data, *file;
};

EXPORT void **__cudaRegisterFatBinary(const struct wrapper *wrapper)
{
    struct unit *unit = calloc(1, sizeof *unit);
    unit->image = wrapper->data;
    return (void **)unit;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **unit)
{
}

EXPORT void __cudaUnregisterFatBinary(void **unit)
{
}

EXPORT char __cudaInitModule(void **unit)
{
    return 1;
}

EXPORT void __cudaRegisterFunction(void **unit, const void *host, char *device, const char *name,
                                   int limit, void *tid, void *bid, void *block, void *grid,
                                   int *warp)
{
    enter(kernels, host, (struct unit *)unit, name, 0);
}

EXPORT void __cudaRegisterVar(void **unit, const void *host, char *device, const char *name, int ext,
                              size_t size, int constant, int global)
{
    enter(variables, host, (struct unit *)unit, name, size);
}

EXPORT void __cudaRegisterManagedVar(void **unit, void **host, char *device, const char *name,
                                     int ext, size_t size, int constant, int global)
{
    struct entry *made = enter(variables, host, (struct unit *)unit, name, size);
    made->managed = 1;
    if (!runtime_enter() && !load(made->unit) &&
        !host_managed(&made->address, made->unit->module, name, size))
        *host = (void *)made->address;
}

EXPORT void __cudaRegisterHostVar(void **unit, const char *name, const void *host, size_t size)
{
    enter(variables, host, (struct unit *)unit, name, size);
}

EXPORT void __cudaRegisterTexture(void **unit, const void *host, const void **device,
                                  const char *name, int dim, int normalized, int ext)
{
    enter(variables, host, (struct unit *)unit, name, 0);
}

EXPORT void __cudaRegisterSurface(void **unit, const void *host, const void **device,
                                  const char *name, int dim, int ext)
{
    enter(variables, host, (struct unit *)unit, name, 0);
}

/* What is not registered may be a function that the driver gave (cudaGetKernel, a CUfunction). */
int runtime_function(uint64_t host, uint64_t *function)
{
    struct entry *entry = find(kernels, (const void *)host);
    int status = STATUS_OK;
    if (entry == NULL) {
        *function = host;
        return cuFuncLoad(host) ? INVALID_DEVICE_FUNCTION : STATUS_OK;
    }
    if (!entry->function) {
        pthread_mutex_lock(&lock);
        status = load(entry->unit);
        if (!status)
            status = cuModuleGetFunction(&entry->function, entry->unit->module, entry->name);
        pthread_mutex_unlock(&lock);
    }
    *function = entry->function;
    return status == STATUS_NOT_FOUND ? INVALID_DEVICE_FUNCTION : status;
}

static int variable(const void *host, uint64_t *address, uint64_t *size)
{
    struct entry *entry = find(variables, host);
    int status = STATUS_OK;
    if (entry == NULL)
        return INVALID_SYMBOL;
    if (!entry->address) {
        pthread_mutex_lock(&lock);
        status = load(entry->unit);
        if (!status)
            status = host_symbol(&entry->address, &entry->size, entry->unit->module, entry->name);
        pthread_mutex_unlock(&lock);
    }
    *address = entry->address;
    if (size != NULL)
        *size = entry->size;
    return status == STATUS_NOT_FOUND ? INVALID_SYMBOL : status;
}

int runtime_symbol(uint64_t host, uint64_t *address)
{
    return variable((const void *)host, address, NULL);
}

EXPORT int cudaGetSymbolAddress(uint64_t *address, const void *symbol)
{
    ENTER();
    return runtime_status(variable(symbol, address, NULL));
}

EXPORT int cudaGetSymbolSize(size_t *size, const void *symbol)
{
    uint64_t address;
    ENTER();
    return runtime_status(variable(symbol, &address, size));
}

EXPORT int cudaGetFuncBySymbol(uint64_t *function, const void *symbol)
{
    ENTER();
    return runtime_status(runtime_function((uint64_t)symbol, function));
}

EXPORT int cudaGetKernel(uint64_t *kernel, const void *symbol)
{
    return cudaGetFuncBySymbol(kernel, symbol);
}

/* Asked by compiled host code before each launch, which alone is to fail where there is no code for
   the device: what is registered stands for itself then. */
EXPORT int __cudaGetKernel(uint64_t *kernel, const void *symbol)
{
    ENTER();
    int status = runtime_function((uint64_t)symbol, kernel);
    if (!status || find(kernels, symbol) == NULL)
        return runtime_status(status);
    *kernel = (uint64_t)symbol;
    return STATUS_OK;
}

EXPORT int cudaFuncGetName(const char **name, const void *symbol)
{
    struct entry *entry = find(kernels, symbol);
    *name = entry == NULL ? NULL : entry->name;
    return runtime_status(entry == NULL ? INVALID_DEVICE_FUNCTION : STATUS_OK);
}

/* ---- libraries that a program loads itself ------------------------------------------------ */

int cuLibraryLoadData(uint64_t *, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cuLibraryLoadFromFile(uint64_t *, const char *, int *, void **, unsigned, int *, void **,
                          unsigned);

EXPORT int cudaLibraryLoadData(uint64_t *library, const void *image, int *options, void **values,
                               unsigned count, int *more, void **more_values, unsigned more_count)
{
    ENTER();
    return runtime_status(cuLibraryLoadData(library, image, options, values, count, more,
                                            more_values, more_count));
}

EXPORT int cudaLibraryLoadFromFile(uint64_t *library, const char *name, int *options,
                                   void **values, unsigned count, int *more, void **more_values,
                                   unsigned more_count)
{
    ENTER();
    return runtime_status(cuLibraryLoadFromFile(library, name, options, values, count, more,
                                                more_values, more_count));
}

/* ---- launches ---------------------------------------------------------------------------- */

struct dim3 {
    unsigned x, y, z;
};

struct configuration {
    struct dim3 grid, block;
    size_t shared;
    uint64_t stream;
};

#define NESTED 64
static __thread struct configuration pushed[NESTED];
static __thread int pushes;

EXPORT unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                            uint64_t stream)
{
    if (pushes == NESTED)
        return 1;
    pushed[pushes++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

EXPORT int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared,
                                      uint64_t *stream)
{
    if (!pushes)
        return runtime_status(52);
    struct configuration *top = &pushed[--pushes];
    *grid = top->grid, *block = top->block, *shared = top->shared, *stream = top->stream;
    return STATUS_OK;
}

/* A shape that no launch can have has another error here than for the driver. */
static int possible(const struct shape *shape)
{
    const uint32_t *block = shape->block, *grid = shape->grid;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    return threads && threads <= 1024 && block[2] <= 64 && grid[0] && grid[1] && grid[2] &&
           grid[1] <= 65535 && grid[2] <= 65535;
}

static int start(const void *host, struct dim3 grid, struct dim3 block, void **params,
                 size_t shared, uint64_t stream, int cooperative)
{
    uint64_t function;
    ENTER();
    int status = runtime_function((uint64_t)host, &function);
    if (status)
        return runtime_status(status);
    struct shape shape = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared,
                          cooperative, {0, 0, 0}, 0, stream};
    status = host_start(function, &shape, params, NULL);
    return runtime_status(status == STATUS_INVALID_VALUE && !possible(&shape)
                              ? INVALID_CONFIGURATION
                              : status);
}

EXPORT int cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **params,
                            size_t shared, uint64_t stream)
{
    return start(host, grid, block, params, shared, stream, 0);
}

EXPORT int __cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **params,
                              size_t shared, uint64_t stream)
{
    return start(host, grid, block, params, shared, stream, 0);
}

EXPORT int cudaLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
                                       void **params, size_t shared, uint64_t stream)
{
    return start(host, grid, block, params, shared, stream, 1);
}

struct launch_config {
    struct dim3 grid, block;
    size_t shared;
    uint64_t stream;
    const void *attributes;
    unsigned count;
};

EXPORT int cudaLaunchKernelExC(const struct launch_config *config, const void *host, void **params)
{
    uint64_t function;
    ENTER();
    int status = runtime_function((uint64_t)host, &function);
    if (status)
        return runtime_status(status);
    struct shape shape = {.shared = config->shared, .stream = config->stream};
    memcpy(shape.grid, &config->grid, sizeof shape.grid);
    memcpy(shape.block, &config->block, sizeof shape.block);
    host_take_attributes(&shape, config->attributes, config->count);
    return runtime_status(host_start(function, &shape, params, NULL));
}

/* The driver has shared memory of a block in 32 bits. */
struct driver_config {
    struct dim3 grid, block;
    unsigned shared;
    uint64_t stream;
    const void *attributes;
    unsigned count;
};
int cuOccupancyMaxActiveClusters(int *, uint64_t, const struct driver_config *);
int cuOccupancyMaxPotentialClusterSize(int *, uint64_t, const struct driver_config *);

static int of_clusters(int *made, const void *host, const struct launch_config *given,
                       int (*ask)(int *, uint64_t, const struct driver_config *))
{
    uint64_t function;
    ENTER();
    if (made == NULL || given == NULL)
        return runtime_status(STATUS_INVALID_VALUE);
    int status = runtime_function((uint64_t)host, &function);
    struct driver_config config = {given->grid,   given->block,      given->shared,
                                   given->stream, given->attributes, given->count};
    return runtime_status(status ? status : ask(made, function, &config));
}

EXPORT int cudaOccupancyMaxActiveClusters(int *clusters, const void *host,
                                          const struct launch_config *config)
{
    return of_clusters(clusters, host, config, cuOccupancyMaxActiveClusters);
}

EXPORT int cudaOccupancyMaxPotentialClusterSize(int *size, const void *host,
                                                const struct launch_config *config)
{
    return of_clusters(size, host, config, cuOccupancyMaxPotentialClusterSize);
}

EXPORT int cudaLaunchHostFunc(uint64_t stream, void (*function)(void *), void *data)
{
    ENTER();
    return runtime_status(cuLaunchHostFunc(stream, function, data));
}

EXPORT int cudaStreamAddCallback(uint64_t stream, void (*function)(uint64_t, int, void *),
                                 void *data, unsigned flags)
{
    ENTER();
    function(stream, host_sync(stream), data);
    return STATUS_OK;
}

/* ---- errors and the device --------------------------------------------------------------- */

EXPORT int cudaGetLastError(void)
{
    int status = last_error;
    last_error = STATUS_OK;
    return status;
}

EXPORT int cudaPeekAtLastError(void)
{
    return last_error;
}

EXPORT const char *cudaGetErrorName(int code)
{
    return host_error_name(code, 1);
}

EXPORT const char *cudaGetErrorString(int code)
{
    return host_error_words(code);
}

EXPORT int cudaDriverGetVersion(int *version)
{
    return runtime_status(cuDriverGetVersion(version));
}

EXPORT int cudaRuntimeGetVersion(int *version)
{
    if (version == NULL)
        return runtime_status(STATUS_INVALID_VALUE);
    *version = RUNTIME_VERSION;
    return STATUS_OK;
}

/* What CUDA 13's own says. */
EXPORT int cudaRuntimeGetVersion_13(int *version)
{
    int status = cudaRuntimeGetVersion(version);
    if (!status)
        *version = NEWEST_RUNTIME_VERSION;
    return status;
}

EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                            uint64_t flags, int *found)
{
    int missing = 0;
    cuGetProcAddress_v2(name, function, version, flags, &missing);
    if (found != NULL)
        *found = missing;
    return STATUS_OK;
}

EXPORT int cudaGetDriverEntryPoint(const char *name, void **function, uint64_t flags, int *found)
{
    return cudaGetDriverEntryPointByVersion(name, function, RUNTIME_VERSION, flags, found);
}

EXPORT int cudaGetDeviceCount(int *count)
{
    int status = cuInit(0);
    if (!status)
        status = cuDeviceGetCount(count);
    return runtime_status(status);
}

EXPORT int cudaSetDevice(int device)
{
    if (device)
        return runtime_status(INVALID_DEVICE);
    ENTER();
    return STATUS_OK;
}

EXPORT int cudaInitDevice(int device, unsigned flags, unsigned more)
{
    return cudaSetDevice(device);
}

EXPORT int cudaSetValidDevices(int *devices, int count)
{
    return STATUS_OK;
}

EXPORT int cudaGetDevice(int *device)
{
    if (device == NULL)
        return runtime_status(STATUS_INVALID_VALUE);
    ENTER();
    *device = 0;
    return STATUS_OK;
}

EXPORT int cudaChooseDevice(int *device, const void *wanted)
{
    return cudaGetDevice(device);
}

EXPORT int cudaSetDeviceFlags(unsigned flags)
{
    return runtime_status(cuInit(0));
}

EXPORT int cudaDeviceReset(void)
{
    ENTER();
    pthread_mutex_lock(&lock);
    for (int n = 0; n < BUCKETS; n++) {
        for (struct entry *at = kernels[n]; at != NULL; at = at->next)
            at->function = 0, at->unit->module = 0, at->unit->status = 0;
        for (struct entry *at = variables[n]; at != NULL; at = at->next)
            at->address = 0, at->unit->module = 0, at->unit->status = 0;
    }
    pthread_mutex_unlock(&lock);
    int status = cuDevicePrimaryCtxReset_v2(0);
    cuCtxSetCurrent(0);
    return runtime_status(status);
}

EXPORT int cudaThreadExit(void)
{
    return cudaDeviceReset();
}

/* ---- memory ------------------------------------------------------------------------------ */

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

static int is_shared(uint64_t address)
{
    return address >= host_facts.shared_begin && address < host_facts.shared_end;
}

/* Whether addresses are what a direction says; memory that both have is either. */
static int fits(uint64_t to, uint64_t from, int kind)
{
    int to_device = kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE;
    int from_device = kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE;
    if (kind == BY_ADDRESS)
        return 1;
    return (is_shared(to) || !host_is_device(to) == !to_device) &&
           (is_shared(from) || !host_is_device(from) == !from_device);
}

static int copy(uint64_t to, uint64_t from, size_t size, int kind, uint64_t stream)
{
    int status;
    ENTER();
    if (kind < HOST_TO_HOST || kind > BY_ADDRESS)
        return runtime_status(INVALID_DIRECTION);
    if (!size)
        return runtime_status(host_faulted());
    if (!fits(to, from, kind))
        return runtime_status(STATUS_INVALID_VALUE);
    if (!stream || !capture_copy(stream, to, from, size, &status))
        status = host_copy_bytes(to, from, size);
    return runtime_status(status);
}

EXPORT int cudaMemcpy(uint64_t to, uint64_t from, size_t size, int kind)
{
    return copy(to, from, size, kind, 0);
}

EXPORT int cudaMemcpyAsync(uint64_t to, uint64_t from, size_t size, int kind, uint64_t stream)
{
    return copy(to, from, size, kind, stream);
}

/* There is one device, which copies to itself. */
static int no_such_devices(int to_device, int from_device)
{
    return to_device != 0 || from_device != 0;
}

EXPORT int cudaMemcpyPeer(uint64_t to, int to_device, uint64_t from, int from_device, size_t size)
{
    if (no_such_devices(to_device, from_device))
        return runtime_status(INVALID_DEVICE);
    return copy(to, from, size, BY_ADDRESS, 0);
}

EXPORT int cudaMemcpyPeerAsync(uint64_t to, int to_device, uint64_t from, int from_device,
                               size_t size, uint64_t stream)
{
    if (no_such_devices(to_device, from_device))
        return runtime_status(INVALID_DEVICE);
    return copy(to, from, size, BY_ADDRESS, stream);
}

int cuMemcpyBatchAsync(const uint64_t *, const uint64_t *, const size_t *, size_t, const void *,
                       const size_t *, size_t, size_t *, uint64_t);

EXPORT int cudaMemcpyBatchAsync(const uint64_t *to, const uint64_t *from, const size_t *sizes,
                                size_t count, const void *attributes, const size_t *which,
                                size_t kinds, size_t *failed, uint64_t stream)
{
    ENTER();
    return runtime_status(cuMemcpyBatchAsync(to, from, sizes, count, attributes, which, kinds,
                                             failed, stream));
}

/* As CUDA 13 has it. */
EXPORT int cudaMemcpyBatchAsync_13(const uint64_t *to, const uint64_t *from, const size_t *sizes,
                                   size_t count, const void *attributes, const size_t *which,
                                   size_t kinds, uint64_t stream)
{
    return cudaMemcpyBatchAsync(to, from, sizes, count, attributes, which, kinds, NULL, stream);
}

/* Where a part of a variable lies. */
static int part(const void *symbol, size_t size, size_t offset, uint64_t *address)
{
    uint64_t most;
    int status = variable(symbol, address, &most);
    if (!status && (offset > most || size > most - offset))
        status = STATUS_INVALID_VALUE;
    *address += offset;
    return status;
}

int runtime_part(uint64_t symbol, size_t size, size_t offset, uint64_t *address)
{
    return part((const void *)symbol, size, offset, address);
}

EXPORT int cudaMemcpyToSymbolAsync(const void *symbol, uint64_t from, size_t size, size_t offset,
                                   int kind, uint64_t stream)
{
    uint64_t address;
    ENTER();
    int status = part(symbol, size, offset, &address);
    return status ? runtime_status(status) : copy(address, from, size, kind, stream);
}

EXPORT int cudaMemcpyToSymbol(const void *symbol, uint64_t from, size_t size, size_t offset,
                              int kind)
{
    return cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, 0);
}

EXPORT int cudaMemcpyFromSymbolAsync(uint64_t to, const void *symbol, size_t size, size_t offset,
                                     int kind, uint64_t stream)
{
    uint64_t address;
    ENTER();
    int status = part(symbol, size, offset, &address);
    return status ? runtime_status(status) : copy(to, address, size, kind, stream);
}

EXPORT int cudaMemcpyFromSymbol(uint64_t to, const void *symbol, size_t size, size_t offset,
                                int kind)
{
    return cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, 0);
}

static struct box_side linear(uint64_t at, size_t pitch)
{
    return (struct box_side){.kind = IN_EITHER, .device = at, .pitch = pitch};
}

EXPORT int cudaMemcpy2DAsync(uint64_t to, size_t to_pitch, uint64_t from, size_t from_pitch,
                             size_t width, size_t height, int kind, uint64_t stream)
{
    int status;
    ENTER();
    if (width > to_pitch || width > from_pitch)
        return runtime_status(12);
    if (width && height && !fits(to, from, kind))
        return runtime_status(STATUS_INVALID_VALUE);
    struct box box = {linear(from, from_pitch), linear(to, to_pitch), width, height, 1};
    if (!stream || !capture_box(stream, &box, &status))
        status = host_copy_box(&box);
    return runtime_status(status);
}

EXPORT int cudaMemcpy2D(uint64_t to, size_t to_pitch, uint64_t from, size_t from_pitch,
                        size_t width, size_t height, int kind)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, 0);
}

static struct box_side side3(uint64_t array, const struct position *at, const struct pitched *linear,
                             size_t element)
{
    return (struct box_side){.kind = array ? IN_ARRAY : IN_EITHER, .x = at->x * element, .y = at->y,
                             .z = at->z, .device = linear->at, .array = array,
                             .pitch = linear->pitch, .height = linear->height};
}

int host_box_of(const struct copy3 *given, struct box *box)
{
    uint32_t element = 1;
    uint64_t row, array = given->from_array ? given->from_array : given->to_array;
    if (array) {
        int status = host_element(&element, &row, array);
        if (status)
            return status;
    }
    *box = (struct box){
        side3(given->from_array, &given->from_at, &given->from, given->from_array ? element : 1),
        side3(given->to_array, &given->to_at, &given->to, given->to_array ? element : 1),
        given->extent.width * element, given->extent.height, given->extent.depth};
    return STATUS_OK;
}

EXPORT int cudaMemcpy3D(const struct copy3 *given)
{
    struct box box;
    ENTER();
    int status = host_box_of(given, &box);
    return runtime_status(status ? status : host_copy_box(&box));
}

EXPORT int cudaMemcpy3DAsync(const struct copy3 *given, uint64_t stream)
{
    struct box box;
    ENTER();
    int status = host_box_of(given, &box);
    if (!status && !capture_box(stream, &box, &status))
        status = host_copy_box(&box);
    return runtime_status(status);
}

struct copy3_peer {
    uint64_t from_array;
    struct position from_at;
    struct pitched from;
    int from_device;
    uint64_t to_array;
    struct position to_at;
    struct pitched to;
    int to_device;
    struct extent extent;
};

EXPORT int cudaMemcpy3DPeerAsync(const struct copy3_peer *given, uint64_t stream)
{
    struct copy3 copy = {given->from_array, given->from_at, given->from, given->to_array,
                         given->to_at, given->to, given->extent, BY_ADDRESS};
    if (no_such_devices(given->to_device, given->from_device))
        return runtime_status(INVALID_DEVICE);
    return cudaMemcpy3DAsync(&copy, stream);
}

EXPORT int cudaMemcpy3DPeer(const struct copy3_peer *given)
{
    return cudaMemcpy3DPeerAsync(given, 0);
}

/* ---- arrays ------------------------------------------------------------------------------ */

struct channels {
    int x, y, z, w, kind;
};

EXPORT struct channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct channels){x, y, z, w, kind};
}

EXPORT int cudaMalloc3DArray(uint64_t *array, const void *desc, struct extent extent,
                             unsigned flags)
{
    ENTER();
    return runtime_status(host_array(array, desc, &extent, flags));
}

EXPORT int cudaMallocMipmappedArray(uint64_t *array, const void *desc, struct extent extent,
                                    unsigned levels, unsigned flags)
{
    ENTER();
    return runtime_status(host_levels(array, desc, &extent, levels, flags));
}

static struct box_side in_array(uint64_t array, size_t x, size_t y)
{
    return (struct box_side){.kind = IN_ARRAY, .array = array, .x = x, .y = y};
}

static int move_in(struct box_side to, struct box_side from, size_t width, size_t height,
                   uint64_t stream)
{
    int status;
    ENTER();
    struct box box = {from, to, width, height, 1};
    if (!stream || !capture_box(stream, &box, &status))
        status = host_copy_box(&box);
    return runtime_status(status);
}

static int move(struct box_side to, struct box_side from, size_t width, size_t height)
{
    return move_in(to, from, width, height, 0);
}

EXPORT int cudaMemcpy2DToArray(uint64_t to, size_t x, size_t y, uint64_t from, size_t pitch,
                               size_t width, size_t height, int kind)
{
    return move(in_array(to, x, y), linear(from, pitch), width, height);
}

EXPORT int cudaMemcpy2DToArrayAsync(uint64_t to, size_t x, size_t y, uint64_t from, size_t pitch,
                                    size_t width, size_t height, int kind, uint64_t stream)
{
    return move_in(in_array(to, x, y), linear(from, pitch), width, height, stream);
}

EXPORT int cudaMemcpy2DFromArray(uint64_t to, size_t pitch, uint64_t from, size_t x, size_t y,
                                 size_t width, size_t height, int kind)
{
    return move(linear(to, pitch), in_array(from, x, y), width, height);
}

EXPORT int cudaMemcpy2DFromArrayAsync(uint64_t to, size_t pitch, uint64_t from, size_t x, size_t y,
                                      size_t width, size_t height, int kind, uint64_t stream)
{
    return move_in(linear(to, pitch), in_array(from, x, y), width, height, stream);
}

EXPORT int cudaMemcpy2DArrayToArray(uint64_t to, size_t x, size_t y, uint64_t from, size_t from_x,
                                    size_t from_y, size_t width, size_t height, int kind)
{
    return move(in_array(to, x, y), in_array(from, from_x, from_y), width, height);
}

/* Bytes in a row run on at the begin of the array's next row: in up to three boxes. */
static int run(uint64_t array, size_t x, size_t y, uint64_t at, size_t size, int in)
{
    uint32_t texel;
    size_t row;
    ENTER();
    int status = host_element(&texel, &row, array);
    while (!status && size) {
        size_t width = x || size < row ? row - x : row;
        if (width > size)
            width = size;
        size_t height = x || size < row ? 1 : size / row;
        struct box_side here = in_array(array, x, y), there = linear(at, width);
        status = in ? move(here, there, width, height) : move(there, here, width, height);
        x = 0, y += height, at += width * height, size -= width * height;
    }
    return runtime_status(status);
}

EXPORT int cudaMemcpyToArray(uint64_t to, size_t x, size_t y, uint64_t from, size_t size, int kind)
{
    return run(to, x, y, from, size, 1);
}

EXPORT int cudaMemcpyToArrayAsync(uint64_t to, size_t x, size_t y, uint64_t from, size_t size,
                                  int kind, uint64_t stream)
{
    return run(to, x, y, from, size, 1);
}

EXPORT int cudaMemcpyFromArray(uint64_t to, uint64_t from, size_t x, size_t y, size_t size,
                               int kind)
{
    return run(from, x, y, to, size, 0);
}

EXPORT int cudaMemcpyFromArrayAsync(uint64_t to, uint64_t from, size_t x, size_t y, size_t size,
                                    int kind, uint64_t stream)
{
    return run(from, x, y, to, size, 0);
}

EXPORT int cudaMemcpyArrayToArray(uint64_t to, size_t x, size_t y, uint64_t from, size_t from_x,
                                  size_t from_y, size_t size, int kind)
{
    char *dense = malloc(size);
    if (dense == NULL)
        return runtime_status(STATUS_MEMORY);
    int status = run(from, from_x, from_y, (uint64_t)dense, size, 0);
    if (!status)
        status = run(to, x, y, (uint64_t)dense, size, 1);
    free(dense);
    return status;
}

EXPORT int cudaMalloc3D(struct pitched *made, struct extent extent)
{
    uint64_t pitch;
    int status = cudaMallocPitch(&made->at, &pitch, extent.width, extent.height * extent.depth);
    made->pitch = pitch, made->width = extent.width, made->height = extent.height;
    return status;
}

EXPORT int cudaMemset2DAsync(uint64_t to, size_t pitch, int value, size_t width, size_t height,
                             uint64_t stream)
{
    struct fill fill = {to, pitch, (unsigned char)value, 1, width, height};
    int status;
    ENTER();
    if (!stream || !capture_fill(stream, &fill, &status))
        status = host_fill(to, pitch, (unsigned char)value, 1, width, height);
    return runtime_status(status);
}

EXPORT int cudaMemset2D(uint64_t to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(to, pitch, value, width, height, 0);
}

EXPORT int cudaMemset(uint64_t to, int value, size_t size)
{
    return cudaMemset2DAsync(to, size, value, size, 1, 0);
}

EXPORT int cudaMemsetAsync(uint64_t to, int value, size_t size, uint64_t stream)
{
    return cudaMemset2DAsync(to, size, value, size, 1, stream);
}

EXPORT int cudaMemset3D(struct pitched to, int value, struct extent extent)
{
    ENTER();
    int status = STATUS_OK;
    for (size_t z = 0; !status && z < extent.depth; z++)
        status = host_fill(to.at + z * to.pitch * to.height, to.pitch, (unsigned char)value, 1,
                           extent.width, extent.height);
    return runtime_status(status);
}

EXPORT int cudaMemset3DAsync(struct pitched to, int value, struct extent extent, uint64_t stream)
{
    return cudaMemset3D(to, value, extent);
}

EXPORT int cudaMallocHost(uint64_t *address, size_t size)
{
    ENTER();
    return runtime_status(host_take_shared(address, size, 0, 0));
}

EXPORT int cudaHostAlloc(uint64_t *address, size_t size, unsigned flags)
{
    ENTER();
    return runtime_status(host_take_shared(address, size, 0, flags));
}

EXPORT int cudaHostRegister(void *address, size_t size, unsigned flags)
{
    ENTER();
    return runtime_status(host_register_range(address, size, flags));
}

EXPORT int cudaHostUnregister(void *address)
{
    ENTER();
    return runtime_status(host_unregister_range(address));
}

int cuMemRangeGetAttributes(void **, const size_t *, const int *, size_t, uint64_t, size_t);

EXPORT int cudaMemRangeGetAttributes(void **data, const size_t *sizes, const int *attributes,
                                     size_t number, uint64_t address, size_t count)
{
    ENTER();
    return runtime_status(cuMemRangeGetAttributes(data, sizes, attributes, number, address, count));
}

/* ---- other processes --------------------------------------------------------------------- */

struct ipc_handle {
    char bytes[64];
};

EXPORT int cudaIpcOpenMemHandle(uint64_t *address, struct ipc_handle handle, unsigned flags)
{
    ENTER();
    return runtime_status(address == NULL ? STATUS_INVALID_VALUE
                                          : host_ipc_memory(address, &handle));
}

EXPORT int cudaIpcOpenEventHandle(uint64_t *event, struct ipc_handle handle)
{
    ENTER();
    return runtime_status(event == NULL ? STATUS_INVALID_VALUE : host_ipc_event(event, &handle));
}
