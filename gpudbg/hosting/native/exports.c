/* Export tables: what a runtime that is linked into a program asks the driver for beyond its API.

   NVIDIA does not document them.  Facts: what public reimplementations of the driver say of the
   tables' numbers and functions, and what a runtime asks for when it runs here. */
#define _GNU_SOURCE
#include "state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuDevicePrimaryCtxRetain(uint64_t *, int);

#define SIZED(table) (void *)sizeof(table)

/* ---- modules ----------------------------------------------------------------------------- */

static int module_of_wrapper(uint64_t *module, const void *wrapper)
{
    return host_load_image(module, wrapper);
}

static int module_of_wrapper_more(uint64_t *module, const void *wrapper, void *a, void *b,
                                  unsigned c)
{
    return host_load_image(module, wrapper);
}

static int module_of_fatbin(const void *image, uint64_t *module, void *a, void *b, unsigned c)
{
    return host_load_image(module, image);
}

static int primary_context(uint64_t *context, int device)
{
    return cuDevicePrimaryCtxRetain(context, device);
}

static void nothing(uint64_t unused)
{
}

static int succeed(void)
{
    return STATUS_OK;
}

static const void *runtime_interface[13] = {
    SIZED(runtime_interface), module_of_wrapper, primary_context, NULL, NULL, NULL,
    module_of_wrapper_more, nothing, module_of_fatbin, NULL, NULL, NULL, succeed};

/* ---- hooks for tools, none of which is there --------------------------------------------- */

static uint32_t first_buffer[1024], second_buffer[14];

static void give_first(void **at, size_t *size)
{
    *at = first_buffer, *size = 1024;
}

static void give_second(void **at, size_t *size)
{
    *at = second_buffer, *size = 14;
}

static const void *callback_hooks[7] = {SIZED(callback_hooks), NULL, give_first, NULL, NULL, NULL,
                                        give_second};
static const void *thread_storage[4] = {SIZED(thread_storage)};

/* ---- values that a runtime keeps with a context ------------------------------------------- */

struct kept {
    uint64_t context;
    void *key, *value;
    struct kept *next;
};
static struct kept *values;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct kept *find(uint64_t context, void *key)
{
    struct kept *at = values;
    while (at != NULL && (at->context != context || at->key != key))
        at = at->next;
    return at;
}

static int put(uint64_t context, void *key, void *value, void (*ended)(uint64_t, void *, void *))
{
    context = context ? context : host_context;
    pthread_mutex_lock(&lock);
    struct kept *at = find(context, key);
    if (at == NULL) {
        at = calloc(1, sizeof *at);
        at->context = context, at->key = key, at->next = values;
        values = at;
    }
    at->value = value;
    pthread_mutex_unlock(&lock);
    return STATUS_OK;
}

static int drop(uint64_t context, void *key)
{
    context = context ? context : host_context;
    pthread_mutex_lock(&lock);
    struct kept *at = find(context, key);
    if (at != NULL)
        at->key = NULL;
    pthread_mutex_unlock(&lock);
    return STATUS_OK;
}

static int get(void **value, uint64_t context, void *key)
{
    context = context ? context : host_context;
    pthread_mutex_lock(&lock);
    struct kept *at = find(context, key);
    if (at != NULL)
        *value = at->value;
    pthread_mutex_unlock(&lock);
    return at == NULL ? STATUS_INVALID_HANDLE : STATUS_OK;
}

static const void *context_storage[4] = {put, drop, get};

/* ---- states of a context that never are -------------------------------------------------- */

static int context_state(uint64_t context, uint32_t *state, const void **more)
{
    *state = 0;
    return STATUS_OK;
}

static const void *context_checks[4] = {SIZED(context_checks), NULL, context_state, succeed};

/* ------------------------------------------------------------------------------------------ */

static const struct {
    unsigned char id[16];
    const void *table;
} tables[] = {
    {{0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9},
     runtime_interface},
    {{0x42, 0xD8, 0x5A, 0x81, 0x23, 0xF6, 0xCB, 0x47, 0x82, 0x98, 0xF6, 0xE7, 0x8A, 0x3A, 0xEC, 0xDC},
     thread_storage},
    {{0xA0, 0x94, 0x79, 0x8C, 0x2E, 0x74, 0x2E, 0x74, 0x93, 0xF2, 0x08, 0x00, 0x20, 0x0C, 0x0A, 0x66},
     callback_hooks},
    {{0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11, 0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93},
     context_storage},
    {{0x26, 0x3E, 0x88, 0x60, 0x7C, 0xD2, 0x61, 0x43, 0x92, 0xF6, 0xBB, 0xD5, 0x00, 0x6D, 0xFA, 0x7E},
     context_checks},
};

/* By this table a runtime makes sure that the driver is NVIDIA's. It is not. */
static const unsigned char proof[4] = {0xD4, 0x08, 0x20, 0x55};

EXPORT int cuGetExportTable(const void **table, const void *id)
{
    static int said;
    if (!memcmp(id, proof, sizeof proof) && !said++)
        fprintf(stderr, "gpudbg: CUDA's runtime, linked into a file without a symbol table (as into"
                        " NVIDIA's libraries), refuses this driver: link libcudart.so, or do not"
                        " strip the file\n");
    for (unsigned n = 0; n < sizeof tables / sizeof *tables; n++)
        if (!memcmp(tables[n].id, id, 16)) {
            *table = tables[n].table;
            return STATUS_OK;
        }
    return STATUS_NOT_FOUND;
}
