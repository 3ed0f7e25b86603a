/* Functions of the driver API that need more than a message: contexts, images, parameters, copies. */
#define _GNU_SOURCE
#include "calls.h"
#include "graphs.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DRIVER_VERSION 13000

int host_initialized;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- errors ------------------------------------------------------------------------------ */

extern LOCAL const struct host_error {
    int number;
    const char *driver, *runtime, *words;
} host_errors[];

static const struct host_error *error_of(int code)
{
    for (const struct host_error *e = host_errors; e->number >= 0; e++)
        if (e->number == code)
            return e;
    return NULL;
}

const char *host_error_name(int code, int runtime)
{
    const struct host_error *e = error_of(code);
    return e == NULL ? "cudaErrorUnknown" : runtime ? e->runtime : e->driver;
}

const char *host_error_words(int code)
{
    const struct host_error *e = error_of(code);
    return e == NULL ? "unrecognized error code" : e->words;
}

EXPORT int cuGetErrorName(int code, const char **name)
{
    const struct host_error *e = error_of(code);
    *name = e == NULL || !*e->driver ? NULL : e->driver;
    return *name == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
}

EXPORT int cuGetErrorString(int code, const char **words)
{
    const struct host_error *e = error_of(code);
    *words = e == NULL || !*e->driver ? NULL : e->words;
    return *words == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
}

/* ---- the library itself ------------------------------------------------------------------ */

EXPORT int cuInit(unsigned flags)
{
    if (flags)
        return STATUS_INVALID_VALUE;
    int status = host_connect();
    if (!status)
        host_initialized = 1;
    return status;
}

EXPORT int cuDriverGetVersion(int *version)
{
    if (version == NULL)
        return STATUS_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return STATUS_OK;
}

/* For the library that is loaded first (redirect.c). */
EXPORT void *gpudbg_function(const char *name)
{
    return host_function(name, 1 << 30);
}

/* What a driver logs, a program hears in calls of its own: nothing is logged here. */
EXPORT int cuLogsRegisterCallback(void *function, void *data, uint64_t *handle)
{
    if (handle != NULL)
        *handle = 1;
    return STATUS_OK;
}

EXPORT int cuLogsUnregisterCallback(uint64_t handle)
{
    return STATUS_OK;
}

EXPORT int cuLogsCurrent(unsigned *place, unsigned flags)
{
    if (place == NULL)
        return STATUS_INVALID_VALUE;
    *place = 0;
    return STATUS_OK;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                               int *found)
{
    if (name == NULL || function == NULL)
        return STATUS_INVALID_VALUE;
    *function = host_function(name, version);
    /* 1: the symbol is not found, 2: it is one of a later version */
    int state = *function != NULL ? 0 : host_function(name, 1 << 30) == NULL ? 1 : 2;
    if (found != NULL)
        *found = state;
    return state ? STATUS_NOT_FOUND : STATUS_OK;
}

EXPORT int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* ---- contexts: each thread has a stack of them -------------------------------------------- */

#define MOST_CONTEXTS 64
static __thread uint64_t stack[MOST_CONTEXTS];
static __thread int depth;

EXPORT int cuCtxGetCurrent(uint64_t *context)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    *context = host_context;
    return STATUS_OK;
}

EXPORT int cuCtxSetCurrent(uint64_t context)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    if (context && depth == 0)
        depth = 1;
    if (depth)
        stack[depth - 1] = context;
    if (!context && depth)
        depth--;
    host_context = depth ? stack[depth - 1] : 0;
    return STATUS_OK;
}

EXPORT int cuCtxPushCurrent_v2(uint64_t context)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    if (!context || depth == MOST_CONTEXTS)
        return context ? STATUS_INVALID_VALUE : STATUS_INVALID_CONTEXT;
    host_context = stack[depth++] = context;
    return STATUS_OK;
}

EXPORT int cuCtxPopCurrent_v2(uint64_t *context)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    if (!depth)
        return STATUS_INVALID_CONTEXT;
    if (context != NULL)
        *context = host_context;
    depth--;
    host_context = depth ? stack[depth - 1] : 0;
    return STATUS_OK;
}

EXPORT int cuCtxCreate_v2(uint64_t *context, unsigned flags, int device)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    int status = host_context_create(context, flags, device);
    return status ? status : cuCtxPushCurrent_v2(*context);
}

EXPORT int cuCtxCreate_v3(uint64_t *context, void *params, int count, unsigned flags, int device)
{
    return cuCtxCreate_v2(context, flags, device);
}

EXPORT int cuCtxCreate_v4(uint64_t *context, void *params, unsigned flags, int device)
{
    return cuCtxCreate_v2(context, flags, device);
}

static void forget_context(uint64_t context)
{
    if (depth && stack[depth - 1] == context)
        cuCtxPopCurrent_v2(NULL);
}

EXPORT int cuCtxDestroy_v2(uint64_t context)
{
    int status = host_context_destroy(context);
    if (!status)
        forget_context(context);
    return status;
}

EXPORT int cuCtxAttach(uint64_t *context, unsigned flags)
{
    return flags ? STATUS_INVALID_VALUE : cuCtxGetCurrent(context);
}

EXPORT int cuCtxDetach(uint64_t context)
{
    return context ? STATUS_OK : STATUS_INVALID_CONTEXT;
}

EXPORT int cuDevicePrimaryCtxRetain(uint64_t *context, int device)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    return host_context_retain(context, device);
}

EXPORT int cuDevicePrimaryCtxReset_v2(int device)
{
    return host_context_reset(device);
}

/* ---- images ------------------------------------------------------------------------------ */

#define FATBIN_MAGIC 0xBA55ED50u
#define WRAPPER_MAGIC 0x466243B1u

static uint64_t elf_size(const unsigned char *at)
{
    const Elf64_Ehdr *head = (const void *)at;
    uint64_t end = head->e_shoff + (uint64_t)head->e_shnum * head->e_shentsize;
    uint64_t programs = head->e_phoff + (uint64_t)head->e_phnum * head->e_phentsize;
    const Elf64_Shdr *section = (const void *)(at + head->e_shoff);
    for (int n = 0; n < head->e_shnum; n++)
        if (section[n].sh_type != SHT_NOBITS && section[n].sh_offset + section[n].sh_size > end)
            end = section[n].sh_offset + section[n].sh_size;
    return end > programs ? end : programs;
}

uint64_t host_image_size(const void *image)
{
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (!memcmp(image, ELFMAG, SELFMAG))
        return elf_size(image);
    if (magic == FATBIN_MAGIC) {
        uint16_t head;
        uint64_t body;
        memcpy(&head, (const char *)image + 6, sizeof head);
        memcpy(&body, (const char *)image + 8, sizeof body);
        return head + body;
    }
    return strlen(image);
}

int host_load_image(uint64_t *module, const void *image)
{
    uint32_t magic;
    if (image == NULL)
        return STATUS_INVALID_VALUE;
    memcpy(&magic, image, sizeof magic);
    if (magic == WRAPPER_MAGIC)
        memcpy(&image, (const char *)image + 8, sizeof image);
    return host_load(module, image, host_image_size(image));
}

EXPORT int cuModuleLoadData(uint64_t *module, const void *image)
{
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    return host_load_image(module, image);
}

/* What a compiler says goes to standard error: the buffers of these options stay empty. */
static void empty_logs(unsigned count, int *options, void **values)
{
    for (unsigned n = 0; n < count; n++) {
        int option = options[n];
        if ((option == 3 || option == 5) && values[n] != NULL)
            *(char *)values[n] = 0;
        if (option == 4 || option == 6)
            values[n] = 0;
    }
}

EXPORT int cuModuleLoadDataEx(uint64_t *module, const void *image, unsigned count, int *options,
                              void **values)
{
    empty_logs(count, options, values);
    return cuModuleLoadData(module, image);
}

EXPORT int cuModuleLoadFatBinary(uint64_t *module, const void *image)
{
    return cuModuleLoadData(module, image);
}

static int read_file(const char *name, void **content, size_t *length)
{
    FILE *file = name == NULL ? NULL : fopen(name, "rb");
    if (file == NULL)
        return 301;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    *content = calloc(size + 8, 1);
    size_t got = fread(*content, 1, size, file);
    fclose(file);
    *length = got;
    return got == (size_t)size ? STATUS_OK : 301;
}

EXPORT int cuModuleLoad(uint64_t *module, const char *name)
{
    void *content = NULL;
    size_t size;
    if (!host_initialized)
        return STATUS_NOT_INITIALIZED;
    int status = read_file(name, &content, &size);
    if (!status)
        status = host_load_image(module, content);
    free(content);
    return status;
}

EXPORT int cuLibraryLoadData(uint64_t *library, const void *image, int *options, void **values,
                             unsigned count, int *more, void **more_values, unsigned more_count)
{
    empty_logs(count, options, values);
    return host_load_image(library, image);
}

EXPORT int cuLibraryLoadFromFile(uint64_t *library, const char *name, int *options, void **values,
                                 unsigned count, int *more, void **more_values,
                                 unsigned more_count)
{
    empty_logs(count, options, values);
    return cuModuleLoad(library, name);
}

/* A linker: the device's process has its inputs. */
struct linker {
    uint64_t handle;
    void *data;
    size_t size;
};

EXPORT int cuLinkCreate_v2(unsigned count, int *options, void **values, struct linker **state)
{
    empty_logs(count, options, values);
    *state = calloc(1, sizeof **state);
    return host_linker(&(*state)->handle);
}

EXPORT int cuLinkAddData_v2(struct linker *state, int kind, const void *data, size_t size,
                            const char *name, unsigned count, int *options, void **values)
{
    return host_link_add(state->handle, kind, name, data, size);
}

EXPORT int cuLinkAddFile_v2(struct linker *state, int kind, const char *name, unsigned count,
                            int *options, void **values)
{
    void *content = NULL;
    size_t size;
    int status = read_file(name, &content, &size);
    if (!status)
        status = host_link_add(state->handle, kind, name, content, size);
    free(content);
    return status;
}

EXPORT int cuLinkComplete(struct linker *state, void **cubin, size_t *size)
{
    size_t length;
    int status = host_link(&length, state->handle);
    if (status)
        return status;
    free(state->data);
    state->data = malloc(length);
    state->size = length;
    *cubin = state->data;
    if (size != NULL)
        *size = state->size;
    return host_linked(state->data, length, state->handle);
}

EXPORT int cuLinkDestroy(struct linker *state)
{
    host_unlink(state->handle);
    free(state->data);
    free(state);
    return STATUS_OK;
}

/* ---- launches ---------------------------------------------------------------------------- */

static struct layout *layouts;

static int layout_of(uint64_t function, struct layout **found)
{
    pthread_mutex_lock(&lock);
    struct layout *at = layouts;
    while (at != NULL && at->function != function)
        at = at->next;
    pthread_mutex_unlock(&lock);
    *found = at;
    if (at != NULL)
        return STATUS_OK;
    static __thread struct place places[4096];
    uint32_t count;
    int status = host_layout(&count, places, sizeof places, function);
    if (status)
        return status;
    at = calloc(1, sizeof *at);
    at->function = function;
    at->count = count;
    at->places = malloc(count * sizeof *places + 1);
    memcpy(at->places, places, count * sizeof *places);
    for (uint32_t n = 0; n < count; n++)
        if (places[n].offset + places[n].size > at->bytes)
            at->bytes = places[n].offset + places[n].size;
    pthread_mutex_lock(&lock);
    at->next = layouts;
    layouts = at;
    pthread_mutex_unlock(&lock);
    *found = at;
    return STATUS_OK;
}

static size_t gathered(const struct layout *layout, void **params, char *bytes)
{
    memset(bytes, 0, layout->bytes + 1);
    for (uint32_t n = 0; n < layout->count; n++)
        memcpy(bytes + layout->places[n].offset, params[n], layout->places[n].size);
    return layout->bytes;
}

static const void *packed(void **extra, size_t *size)
{
    const void *buffer = NULL;
    *size = 0;
    for (int n = 0; extra[n] != NULL; n += 2)
        if (extra[n] == (void *)1)
            buffer = extra[n + 1];
        else if (extra[n] == (void *)2)
            *size = *(size_t *)extra[n + 1];
    return buffer;
}

static int launch(uint64_t function, const struct shape *shape, const void *params, size_t size)
{
    int status;
    if (capture_kernel(function, shape, params, size, &status))
        return status;
    return host_launch(function, shape, params, size);
}

int host_start(uint64_t function, struct shape *shape, void **params, void **extra)
{
    struct layout *layout;
    int status = layout_of(function, &layout);
    if (status)
        return status;
    if (params == NULL && extra != NULL) {
        size_t size;
        const void *buffer = packed(extra, &size);
        return launch(function, shape, buffer, size);
    }
    if (params == NULL && layout->count)
        return STATUS_INVALID_VALUE;
    char bytes[layout->bytes + 1];
    size_t size = gathered(layout, params, bytes);
    return launch(function, shape, bytes, size);
}

int host_gather(uint64_t function, void **params, void **extra, char **bytes, size_t *size)
{
    struct layout *layout;
    int status = layout_of(function, &layout);
    if (status)
        return status;
    *bytes = malloc(layout->bytes + 1);
    *size = layout->bytes;
    if (params == NULL && extra != NULL) {
        size_t given;
        const void *buffer = packed(extra, &given);
        memset(*bytes, 0, layout->bytes + 1);
        memcpy(*bytes, buffer, given < layout->bytes ? given : layout->bytes);
        return STATUS_OK;
    }
    if (params == NULL && layout->count)
        return STATUS_INVALID_VALUE;
    gathered(layout, params, *bytes);
    return STATUS_OK;
}

int host_pointers(uint64_t function, char *bytes, void ***params)
{
    struct layout *layout;
    int status = layout_of(function, &layout);
    if (status)
        return status;
    *params = calloc(layout->count + 1, sizeof **params);
    for (uint32_t n = 0; n < layout->count; n++)
        (*params)[n] = bytes + layout->places[n].offset;
    return STATUS_OK;
}

EXPORT int cuLaunchKernel(uint64_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, uint64_t stream, void **params,
                          void **extra)
{
    struct shape shape = {{gx, gy, gz}, {bx, by, bz}, shared, 0, {0, 0, 0}, 0, stream};
    return host_start(function, &shape, params, extra);
}

EXPORT int cuLaunchCooperativeKernel(uint64_t function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                     uint64_t stream, void **params)
{
    struct shape shape = {{gx, gy, gz}, {bx, by, bz}, shared, 1, {0, 0, 0}, 0, stream};
    return host_start(function, &shape, params, NULL);
}

struct attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int number;
        unsigned dims[3];
    } value;
};

int host_take_attributes(struct shape *shape, const void *list, unsigned count)
{
    const struct attribute *attributes = list;
    for (unsigned n = 0; n < count; n++)
        if (attributes[n].id == 2)
            shape->cooperative = attributes[n].value.number != 0;
        else if (attributes[n].id == 4)
            memcpy(shape->cluster, attributes[n].value.dims, sizeof shape->cluster);
    return STATUS_OK;
}

struct launch_config {
    unsigned grid[3], block[3], shared;
    uint64_t stream;
    const void *attributes;
    unsigned count;
};

EXPORT int cuLaunchKernelEx(const struct launch_config *config, uint64_t function, void **params,
                            void **extra)
{
    struct shape shape = {.shared = config->shared, .stream = config->stream};
    memcpy(shape.grid, config->grid, sizeof shape.grid);
    memcpy(shape.block, config->block, sizeof shape.block);
    host_take_attributes(&shape, config->attributes, config->count);
    return host_start(function, &shape, params, extra);
}

/* Launches as before CUDA 4: a function keeps its shape and parameters until it is launched. */
struct legacy {
    uint64_t function;
    unsigned block[3], shared;
    size_t size;
    char bytes[4096];
    struct legacy *next;
};
static struct legacy *legacies;

static struct legacy *legacy_of(uint64_t function)
{
    pthread_mutex_lock(&lock);
    struct legacy *at = legacies;
    while (at != NULL && at->function != function)
        at = at->next;
    if (at == NULL) {
        at = calloc(1, sizeof *at);
        at->function = function, at->next = legacies;
        at->block[0] = at->block[1] = at->block[2] = 1;
        legacies = at;
    }
    pthread_mutex_unlock(&lock);
    return at;
}

EXPORT int cuFuncSetBlockShape(uint64_t function, int x, int y, int z)
{
    struct legacy *at = legacy_of(function);
    at->block[0] = x, at->block[1] = y, at->block[2] = z;
    return x > 0 && y > 0 && z > 0 ? STATUS_OK : STATUS_INVALID_VALUE;
}

EXPORT int cuFuncSetSharedSize(uint64_t function, unsigned size)
{
    legacy_of(function)->shared = size;
    return STATUS_OK;
}

EXPORT int cuParamSetSize(uint64_t function, unsigned size)
{
    struct legacy *at = legacy_of(function);
    if (size > sizeof at->bytes)
        return STATUS_INVALID_VALUE;
    at->size = size;
    return STATUS_OK;
}

EXPORT int cuParamSetv(uint64_t function, int offset, const void *value, unsigned size)
{
    struct legacy *at = legacy_of(function);
    if (offset < 0 || value == NULL || offset + (uint64_t)size > sizeof at->bytes)
        return STATUS_INVALID_VALUE;
    memcpy(at->bytes + offset, value, size);
    return STATUS_OK;
}

EXPORT int cuParamSeti(uint64_t function, int offset, unsigned value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

EXPORT int cuParamSetf(uint64_t function, int offset, float value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

EXPORT int cuLaunchGridAsync(uint64_t function, int width, int height, uint64_t stream)
{
    struct legacy *at = legacy_of(function);
    void *extra[] = {(void *)1, at->bytes, (void *)2, &at->size, NULL};
    return cuLaunchKernel(function, width, height, 1, at->block[0], at->block[1], at->block[2],
                          at->shared, stream, NULL, extra);
}

EXPORT int cuLaunchGrid(uint64_t function, int width, int height)
{
    return cuLaunchGridAsync(function, width, height, 0);
}

EXPORT int cuLaunch(uint64_t function)
{
    return cuLaunchGrid(function, 1, 1);
}

EXPORT int cuLaunchHostFunc(uint64_t stream, void (*function)(void *), void *data)
{
    int status;
    if (capture_host(stream, function, data, &status))
        return status;
    status = host_sync(stream);
    if (!status)
        function(data);
    return status;
}

/* Work is done in order: what a stream waits for has been written, or never is. */
static int written(uint64_t address, uint64_t value, unsigned width)
{
    uint32_t half[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
    return host_copy_bytes(address, (uint64_t)half, width);
}

static int waited(uint64_t address, uint64_t value, unsigned flags, unsigned width)
{
    uint64_t now = 0;
    int status = host_copy_bytes((uint64_t)&now, address, width);
    int there = (flags & 3) == 0   ? (width == 4 ? (int32_t)(now - value) : (int64_t)(now - value)) >= 0
                : (flags & 3) == 1 ? now == value
                : (flags & 3) == 2 ? (now & value) != 0
                                   : (now | value) != ~0ull >> (64 - 8 * width);
    return status ? status : there ? STATUS_OK : 702;
}

int host_operations(unsigned count, const struct stream_operation *list)
{
    int status = count && list == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
    for (unsigned n = 0; n < count && !status; n++) {
        const struct stream_operation *at = &list[n];
        uint32_t narrow = (uint32_t)at->value;
        switch (at->kind) {
        case WAIT_32:
            status = waited(at->address, narrow, at->flags, 4);
            break;
        case WRITE_32:
            status = written(at->address, narrow, 4);
            break;
        case WAIT_64:
            status = waited(at->address, at->value, at->flags, 8);
            break;
        case WRITE_64:
            status = written(at->address, at->value, 8);
            break;
        case 3: /* remote writes are seen, and barriers kept, at any time */
        case 6:
            break;
        default:
            status = STATUS_INVALID_VALUE;
        }
    }
    return status;
}

EXPORT int cuStreamBatchMemOp_v2(uint64_t stream, unsigned count,
                                 const struct stream_operation *list, unsigned flags)
{
    int status;
    if (count && list == NULL)
        return STATUS_INVALID_VALUE;
    return capture_operations(stream, count, list, &status) ? status : host_operations(count, list);
}

static int operation(uint64_t stream, uint32_t kind, uint64_t address, uint64_t value,
                     unsigned flags)
{
    struct stream_operation one = {kind, 0, address, value, flags, 0, 0, 0};
    return cuStreamBatchMemOp_v2(stream, 1, &one, 0);
}

EXPORT int cuStreamWriteValue32_v2(uint64_t stream, uint64_t address, uint32_t value,
                                   unsigned flags)
{
    return operation(stream, WRITE_32, address, value, flags);
}

EXPORT int cuStreamWriteValue64_v2(uint64_t stream, uint64_t address, uint64_t value,
                                   unsigned flags)
{
    return operation(stream, WRITE_64, address, value, flags);
}

EXPORT int cuStreamWaitValue32_v2(uint64_t stream, uint64_t address, uint32_t value,
                                  unsigned flags)
{
    return operation(stream, WAIT_32, address, value, flags);
}

EXPORT int cuStreamWaitValue64_v2(uint64_t stream, uint64_t address, uint64_t value,
                                  unsigned flags)
{
    return operation(stream, WAIT_64, address, value, flags);
}

EXPORT int cuStreamAddCallback(uint64_t stream, void (*function)(uint64_t, int, void *), void *data,
                               unsigned flags)
{
    function(stream, host_sync(stream), data);
    return STATUS_OK;
}

#define MOST_NAME 65536

EXPORT int cuFuncGetName(const char **name, uint64_t function)
{
    struct layout *layout;
    static char text[MOST_NAME];
    size_t length;
    int status = name == NULL ? STATUS_INVALID_VALUE : layout_of(function, &layout);
    if (status)
        return status;
    if (layout->name == NULL) {
        pthread_mutex_lock(&lock);
        status = host_name(&length, text, sizeof text, function);
        if (!status)
            layout->name = strndup(text, length);
        pthread_mutex_unlock(&lock);
    }
    *name = layout->name;
    return status;
}

EXPORT int cuKernelGetName(const char **name, uint64_t function)
{
    return cuFuncGetName(name, function);
}

static int fitting(int *grid, int *block, uint64_t function, size_t (*dynamic)(int), size_t fixed,
                   int limit)
{
    int most = 1024, best = 0, sms = 1;
    int status = cuFuncGetAttribute(&most, 0, function);
    if (status || (status = cuDeviceGetAttribute(&sms, 16, 0)))
        return status;
    if (limit > 0 && limit < most)
        most = limit;
    *block = *grid = 0;
    for (int size = (most + 31) / 32 * 32; size > 0; size -= 32) {
        int threads = size < most ? size : most, blocks = 0;
        size_t bytes = dynamic == NULL ? fixed : dynamic(threads);
        status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, bytes);
        if (status)
            return status;
        if (blocks * threads > best)
            best = blocks * threads, *block = threads, *grid = blocks * sms;
    }
    return STATUS_OK;
}

EXPORT int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, uint64_t function,
                                            size_t (*dynamic)(int), size_t fixed, int limit)
{
    return fitting(grid, block, function, dynamic, fixed, limit);
}

EXPORT int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, uint64_t function,
                                                     size_t (*dynamic)(int), size_t fixed,
                                                     int limit, unsigned flags)
{
    return fitting(grid, block, function, dynamic, fixed, limit);
}

EXPORT int cuOccupancyMaxActiveClusters(int *clusters, uint64_t function,
                                        const struct launch_config *config)
{
    struct shape shape = {{0}};
    int blocks = 0, sms = 1;
    host_take_attributes(&shape, config->attributes, config->count);
    unsigned size = shape.cluster[0] ? shape.cluster[0] * shape.cluster[1] * shape.cluster[2] : 1;
    int status = cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, config->block[0] * config->block[1] * config->block[2],
        config->shared);
    if (status || (status = cuDeviceGetAttribute(&sms, 16, 0)))
        return status;
    *clusters = blocks * sms / size;
    return STATUS_OK;
}

EXPORT int cuOccupancyMaxPotentialClusterSize(int *size, uint64_t function,
                                              const struct launch_config *config)
{
    int clusters = 0, larger = 0, blocks = 0, sms = 1;
    int status = cuDeviceGetAttribute(&clusters, 120, 0); /* whether there are clusters */
    if (!status)
        status = cuFuncGetAttribute(&larger, 14, function);
    if (!status)
        status = cuDeviceGetAttribute(&sms, 16, 0);
    if (!status)
        status = cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, function, config->block[0] * config->block[1] * config->block[2],
            config->shared);
    *size = !clusters ? 1 : larger ? 16 : 8;
    while (*size > 1 && *size > blocks * sms)
        *size /= 2;
    return status;
}

/* ---- memory that host and device share --------------------------------------------------- */

int host_take_shared(uint64_t *address, uint64_t size, uint32_t kind, uint32_t flags)
{
    if (address == NULL)
        return STATUS_INVALID_VALUE;
    return host_shared_allocate(address, size, kind, flags);
}

EXPORT int cuMemAllocHost_v2(uint64_t *address, size_t size)
{
    return host_take_shared(address, size, 0, 0);
}

EXPORT int cuMemHostAlloc(uint64_t *address, size_t size, unsigned flags)
{
    return host_take_shared(address, size, 0, flags);
}

EXPORT int cuMemFreeAsync(uint64_t address, uint64_t stream)
{
    int status;
    return capture_free(stream, address, &status) ? status : cuMemFree_v2(address);
}

static long page(void)
{
    return sysconf(_SC_PAGESIZE);
}

/* Its pages become pages of the shared file, with what was in them. */
int host_register_range(void *address, uint64_t size, uint32_t flags)
{
    uint64_t begin = (uint64_t)address & -page();
    uint64_t end = ((uint64_t)address + size + page() - 1) & -page();
    uint64_t offset;
    if (address == NULL || !size)
        return STATUS_INVALID_VALUE;
    int status = host_registered(&offset, begin, end - begin, flags);
    if (status)
        return status;
    for (uint64_t done = 0; done < end - begin;) {
        ssize_t put = pwrite(host_shared_file, (char *)begin + done, end - begin - done,
                             offset + done);
        if (put <= 0)
            return 304;
        done += put;
    }
    void *made = mmap((void *)begin, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      host_shared_file, offset);
    return made == MAP_FAILED ? 304 : STATUS_OK;
}

int host_unregister_range(void *address)
{
    size_t size = 0;
    uint64_t begin = (uint64_t)address & -page();
    int status = host_unregistered(&size, begin);
    if (status || !size)
        return status;
    /* No malloc here: what it gives may lie in these very pages. */
    void *kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED)
        return STATUS_MEMORY;
    memcpy(kept, (void *)begin, size);
    mremap(kept, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin);
    return STATUS_OK;
}

EXPORT int cuMemHostRegister_v2(void *address, size_t size, unsigned flags)
{
    return host_register_range(address, size, flags);
}

EXPORT int cuMemHostUnregister(void *address)
{
    return host_unregister_range(address);
}

/* ---- copies ------------------------------------------------------------------------------ */

#define CHUNK (64u << 20)

int host_copy_bytes(uint64_t to, uint64_t from, uint64_t size)
{
    int in = host_is_device(to), out = host_is_device(from), status = 0;
    if (in && out)
        return host_copy(to, from, size);
    if (!in && !out) {
        if (size && (!to || !from))
            return STATUS_INVALID_VALUE;
        memmove((void *)to, (void *)from, size);
        return host_faulted();
    }
    do {
        uint64_t part = size < CHUNK ? size : CHUNK;
        status = in ? host_copy_in(to, (void *)from, part) : host_copy_out((void *)to, from, part);
        to += part, from += part, size -= part;
    } while (!status && size);
    return status;
}

#define COPY(name)                                                                                 \
    EXPORT int name(uint64_t to, uint64_t from, size_t size)                                       \
    {                                                                                              \
        return host_copy_bytes(to, from, size);                                                    \
    }
#define COPY_ASYNC(name)                                                                           \
    EXPORT int name(uint64_t to, uint64_t from, size_t size, uint64_t stream)                      \
    {                                                                                              \
        int status;                                                                                \
        if (capture_copy(stream, to, from, size, &status))                                         \
            return status;                                                                         \
        return host_copy_bytes(to, from, size);                                                    \
    }
COPY(cuMemcpy)
COPY_ASYNC(cuMemcpyAsync)
COPY(cuMemcpyHtoD_v2)
COPY(cuMemcpyDtoH_v2)
COPY(cuMemcpyDtoD_v2)
COPY_ASYNC(cuMemcpyHtoDAsync_v2)
COPY_ASYNC(cuMemcpyDtoHAsync_v2)
COPY_ASYNC(cuMemcpyDtoDAsync_v2)

EXPORT int cuMemcpyPeer(uint64_t to, uint64_t to_context, uint64_t from, uint64_t from_context,
                        size_t size)
{
    return host_copy_bytes(to, from, size);
}

EXPORT int cuMemcpyPeerAsync(uint64_t to, uint64_t to_context, uint64_t from, uint64_t from_context,
                             size_t size, uint64_t stream)
{
    return cuMemcpyAsync(to, from, size, stream);
}

EXPORT int cuMemcpyBatchAsync_v2(const uint64_t *to, const uint64_t *from, const size_t *sizes,
                                 size_t count, const void *attributes, const size_t *which,
                                 size_t kinds, uint64_t stream)
{
    int status = STATUS_OK;
    for (size_t n = 0; n < count && !status; n++)
        status = cuMemcpyAsync(to[n], from[n], sizes[n], stream);
    return status;
}

EXPORT int cuMemcpyBatchAsync(const uint64_t *to, const uint64_t *from, const size_t *sizes,
                              size_t count, const void *attributes, const size_t *which,
                              size_t kinds, size_t *failed, uint64_t stream)
{
    int status = STATUS_OK;
    for (size_t n = 0; n < count && !status; n++)
        if ((status = cuMemcpyAsync(to[n], from[n], sizes[n], stream)) && failed != NULL)
            *failed = n;
    return status;
}

static void settle(struct box_side *side)
{
    if (side->kind == IN_EITHER) {
        side->kind = host_is_device(side->device) ? IN_DEVICE : IN_HOST;
        side->host = side->device;
    } else if (side->kind == IN_DEVICE && !host_is_device(side->device)) {
        side->kind = IN_HOST; /* managed and pinned memory */
        side->host = side->device;
    } else if (side->kind == IN_HOST && host_is_device(side->host)) {
        side->kind = IN_DEVICE;
        side->device = side->host;
    }
}

static char *row(const struct box_side *side, uint64_t y, uint64_t z)
{
    uint64_t slice = side->pitch * side->height;
    return (char *)side->host + side->x + (side->y + y) * side->pitch + (side->z + z) * slice;
}

/* Rows between a side in the host and dense bytes. */
static void move_rows(const struct box *box, const struct box_side *side, char *dense, int gather)
{
    for (uint64_t z = 0; z < box->depth; z++)
        for (uint64_t y = 0; y < box->height; y++, dense += box->width)
            if (gather)
                memcpy(dense, row(side, y, z), box->width);
            else
                memcpy(row(side, y, z), dense, box->width);
}

int host_copy_box(struct box *box)
{
    settle(&box->from);
    settle(&box->to);
    uint64_t size = box->width * box->height * box->depth;
    if (!size)
        return STATUS_OK;
    for (struct box_side *side = &box->from;; side = &box->to) {
        if (!side->pitch)
            side->pitch = box->width;
        if (!side->height)
            side->height = box->height;
        if (side == &box->to)
            break;
    }
    if (box->from.kind != IN_HOST && box->to.kind != IN_HOST)
        return host_box(box);
    char *dense = malloc(size);
    if (dense == NULL)
        return STATUS_MEMORY;
    int status = STATUS_OK;
    if (box->from.kind == IN_HOST)
        move_rows(box, &box->from, dense, 1);
    if (box->from.kind == IN_HOST && box->to.kind == IN_HOST)
        move_rows(box, &box->to, dense, 0);
    else if (box->from.kind == IN_HOST)
        status = host_box_in(box, dense, size);
    else {
        status = host_box_out(dense, box, size);
        if (!status)
            move_rows(box, &box->to, dense, 0);
    }
    free(dense);
    return status;
}

EXPORT int cuMemcpy3D_v2(const struct box *given)
{
    struct box box = *given;
    return host_copy_box(&box);
}

EXPORT int cuMemcpy3DAsync_v2(const struct box *given, uint64_t stream)
{
    int status;
    if (capture_box(stream, given, &status))
        return status;
    return cuMemcpy3D_v2(given);
}

struct side2 {
    uint64_t x, y;
    uint32_t kind, padding;
    uint64_t host, device, array, pitch;
};
struct box2 {
    struct side2 from, to;
    uint64_t width, height;
};

static struct box_side deeper(const struct side2 *side)
{
    return (struct box_side){.x = side->x, .y = side->y, .kind = side->kind, .host = side->host,
                             .device = side->device, .array = side->array, .pitch = side->pitch};
}

EXPORT int cuMemcpy2D_v2(const struct box2 *given)
{
    struct box box = {deeper(&given->from), deeper(&given->to), given->width, given->height, 1};
    return host_copy_box(&box);
}

EXPORT int cuMemcpy2DUnaligned_v2(const struct box2 *given)
{
    return cuMemcpy2D_v2(given);
}

EXPORT int cuMemcpy2DAsync_v2(const struct box2 *given, uint64_t stream)
{
    struct box box = {deeper(&given->from), deeper(&given->to), given->width, given->height, 1};
    int status;
    return capture_box(stream, &box, &status) ? status : host_copy_box(&box);
}

static int array_side(uint64_t array, uint64_t offset, uint64_t host, uint64_t size, int in)
{
    struct box_side here = {.kind = IN_HOST, .host = host};
    struct box_side there = {.kind = IN_ARRAY, .array = array, .x = offset};
    struct box box = {in ? here : there, in ? there : here, size, 1, 1};
    return host_copy_box(&box);
}

EXPORT int cuMemcpyHtoA_v2(uint64_t array, size_t offset, uint64_t from, size_t size)
{
    return array_side(array, offset, from, size, 1);
}

EXPORT int cuMemcpyAtoH_v2(uint64_t to, uint64_t array, size_t offset, size_t size)
{
    return array_side(array, offset, to, size, 0);
}

EXPORT int cuMemcpyHtoAAsync_v2(uint64_t array, size_t offset, uint64_t from, size_t size,
                                uint64_t stream)
{
    return array_side(array, offset, from, size, 1);
}

EXPORT int cuMemcpyAtoHAsync_v2(uint64_t to, uint64_t array, size_t offset, size_t size,
                                uint64_t stream)
{
    return array_side(array, offset, to, size, 0);
}

static int between(struct box_side to, struct box_side from, uint64_t size)
{
    struct box box = {from, to, size, 1, 1};
    return host_copy_box(&box);
}

static struct box_side in_array(uint64_t array, size_t offset)
{
    return (struct box_side){.kind = IN_ARRAY, .array = array, .x = offset};
}

static struct box_side on_device(uint64_t address)
{
    return (struct box_side){.kind = IN_DEVICE, .device = address};
}

EXPORT int cuMemcpyAtoA_v2(uint64_t to, size_t at, uint64_t from, size_t offset, size_t size)
{
    return between(in_array(to, at), in_array(from, offset), size);
}

EXPORT int cuMemcpyAtoD_v2(uint64_t to, uint64_t from, size_t offset, size_t size)
{
    return between(on_device(to), in_array(from, offset), size);
}

EXPORT int cuMemcpyDtoA_v2(uint64_t to, size_t offset, uint64_t from, size_t size)
{
    return between(in_array(to, offset), on_device(from), size);
}

/* CUDA_MEMCPY3D_PEER: the same with a context of each side in front of its pitch. */
EXPORT int cuMemcpy3DPeer(const struct box *given)
{
    struct box box = *given;
    return host_copy_box(&box);
}

EXPORT int cuMemcpy3DPeerAsync(const struct box *given, uint64_t stream)
{
    return cuMemcpy3DPeer(given);
}

#define FILL(name, width, type)                                                                    \
    EXPORT int name(uint64_t to, type value, size_t count)                                         \
    {                                                                                              \
        return host_fill(to, count * width, value, width, count * width, 1);                       \
    }                                                                                              \
    EXPORT int name##_stream(uint64_t to, type value, size_t count, uint64_t stream)               \
        __asm__(FILL_ASYNC_##width);                                                               \
    EXPORT int name##_stream(uint64_t to, type value, size_t count, uint64_t stream)               \
    {                                                                                              \
        struct fill fill = {to, count * width, value, width, count, 1};                            \
        int status;                                                                                \
        return capture_fill(stream, &fill, &status) ? status : name(to, value, count);             \
    }
#define FILL_ASYNC_1 "cuMemsetD8Async"
#define FILL_ASYNC_2 "cuMemsetD16Async"
#define FILL_ASYNC_4 "cuMemsetD32Async"
FILL(cuMemsetD8_v2, 1, unsigned char)
FILL(cuMemsetD16_v2, 2, unsigned short)
FILL(cuMemsetD32_v2, 4, unsigned)

#define FILL_ROWS(name, width, type)                                                               \
    EXPORT int name(uint64_t to, size_t pitch, type value, size_t across, size_t rows)             \
    {                                                                                              \
        return host_fill(to, pitch, value, width, across * width, rows);                           \
    }                                                                                              \
    EXPORT int name##_stream(uint64_t to, size_t pitch, type value, size_t across, size_t rows,    \
                             uint64_t stream) __asm__(FILL_ROWS_ASYNC_##width);                    \
    EXPORT int name##_stream(uint64_t to, size_t pitch, type value, size_t across, size_t rows,    \
                             uint64_t stream)                                                      \
    {                                                                                              \
        struct fill fill = {to, pitch, value, width, across, rows};                                \
        int status;                                                                                \
        return capture_fill(stream, &fill, &status) ? status : name(to, pitch, value, across, rows); \
    }
#define FILL_ROWS_ASYNC_1 "cuMemsetD2D8Async"
#define FILL_ROWS_ASYNC_2 "cuMemsetD2D16Async"
#define FILL_ROWS_ASYNC_4 "cuMemsetD2D32Async"
FILL_ROWS(cuMemsetD2D8_v2, 1, unsigned char)
FILL_ROWS(cuMemsetD2D16_v2, 2, unsigned short)
FILL_ROWS(cuMemsetD2D32_v2, 4, unsigned)

/* ---- what a pointer is ------------------------------------------------------------------- */

/* Bytes of a list with a number for each dimension of a tensor, or for some less. */
uint64_t host_numbers(unsigned rank, unsigned less, unsigned bytes)
{
    return rank < 1 || rank > 5 || less > rank ? 0 : (uint64_t)(rank - less) * bytes;
}

EXPORT int cuTensorMapReplaceAddress(void *map, uint64_t address)
{
    char made[128];
    int status = map == NULL ? STATUS_INVALID_VALUE : host_map_moved(made, map, address);
    if (!status)
        memcpy(map, made, sizeof made);
    return status;
}

int host_attribute_bytes(int attribute)
{
    switch (attribute) {
    case 1: /* context */
    case 3: /* device pointer */
    case 4: /* host pointer */
    case 7: /* buffer id */
    case 11: /* start of the range */
    case 12: /* its size */
    case 17: /* memory pool */
        return 8;
    case 5: /* tokens */
        return 16;
    case 6: /* synchronous operations */
    case 8: /* managed */
    case 10: /* IPC */
    case 13: /* mapped */
        return 1;
    default:
        return 4;
    }
}

EXPORT int cuMemRangeGetAttributes(void **data, const size_t *sizes, const int *attributes,
                                   size_t number, uint64_t address, size_t count)
{
    int status = STATUS_OK;
    for (size_t n = 0; n < number && !status; n++)
        status = cuMemRangeGetAttribute(data[n], sizes[n], attributes[n], address, count);
    return status;
}

EXPORT int cuPointerGetAttributes(unsigned count, int *attributes, void **data, uint64_t address)
{
    for (unsigned n = 0; n < count; n++)
        if (cuPointerGetAttribute(data[n], attributes[n], address))
            memset(data[n], 0, host_attribute_bytes(attributes[n]));
    return STATUS_OK;
}

/* ---- other processes --------------------------------------------------------------------- */

struct ipc_handle {
    char bytes[64];
};

EXPORT int cuIpcOpenMemHandle_v2(uint64_t *address, struct ipc_handle handle, unsigned flags)
{
    return address == NULL ? STATUS_INVALID_VALUE : host_ipc_memory(address, &handle);
}

EXPORT int cuIpcOpenEventHandle(uint64_t *event, struct ipc_handle handle)
{
    return event == NULL ? STATUS_INVALID_VALUE : host_ipc_event(event, &handle);
}

/* ---- memory that processes share by file descriptors --------------------------------------- */

#define POSIX_FILE 1
static const uint64_t shared_mark = 0x6d656d2d67646270;

/* The descriptor goes wherever the program sends it; what it stands for is the device's to know. */
EXPORT int cuMemExportToShareableHandle(void *out, uint64_t memory, int type, uint64_t flags)
{
    uint64_t words[2] = {shared_mark, 0};
    if (out == NULL || flags)
        return STATUS_INVALID_VALUE;
    if (type != POSIX_FILE)
        return STATUS_NOT_SUPPORTED;
    int status = host_export_memory(&words[1], memory);
    if (status)
        return status;
    int file = memfd_create("gpudbg-memory", MFD_CLOEXEC);
    if (file < 0)
        return STATUS_MEMORY;
    if (write(file, words, sizeof words) != sizeof words) {
        close(file);
        return STATUS_MEMORY;
    }
    memcpy(out, &file, sizeof file);
    return STATUS_OK;
}

EXPORT int cuMemImportFromShareableHandle(uint64_t *memory, void *handle, int type)
{
    uint64_t words[2] = {0, 0};
    if (memory == NULL)
        return STATUS_INVALID_VALUE;
    if (type != POSIX_FILE)
        return STATUS_NOT_SUPPORTED;
    ssize_t held = pread((int)(intptr_t)handle, words, sizeof words, 0);
    if (held != sizeof words || words[0] != shared_mark)
        return STATUS_INVALID_VALUE;
    return host_import_memory(memory, words[1]);
}
