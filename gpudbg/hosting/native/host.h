/* What the stand-ins for libcuda and libcudart share: the channel to the process of the emulated
   device, and the state that calls find in the host program itself.

   A call is one message: a header, then its arguments in order, each value as 8 bytes and each run
   of bytes after its length.  The answer has the status and what the call gives back. */
#ifndef GPUDBG_HOST_H
#define GPUDBG_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define HOST_PARTS 64
#define LOCAL __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))

/* Statuses that the library itself gives; the same numbers in both APIs where both have them. */
enum {
    STATUS_OK = 0,
    STATUS_INVALID_VALUE = 1,
    STATUS_MEMORY = 2,
    STATUS_NOT_INITIALIZED = 3,
    STATUS_NO_DEVICE = 100,
    STATUS_INVALID_CONTEXT = 201,
    STATUS_INVALID_FUNCTION_RUNTIME = 98,
    STATUS_INVALID_HANDLE = 400,
    STATUS_NOT_FOUND = 500,
    STATUS_NOT_SUPPORTED = 801
};

/* The channel: what the device's process says of itself when a program connects. */
struct host_facts {
    uint64_t device_begin, device_end; /* addresses of device memory */
    uint64_t shared_begin, shared_end; /* memory that host and device both have */
    uint64_t context;                  /* the primary context */
};

struct host_call {
    struct iovec parts[HOST_PARTS];
    int used;
    uint64_t words[HOST_PARTS];
    int words_used;
    uint32_t function;
    uint64_t length;
    uint64_t left; /* bytes of the answer not read yet */
    int status;
};

LOCAL extern struct host_facts host_facts;
LOCAL extern __thread uint64_t host_context;

LOCAL int host_connect(void);                   /* 0, or the status of every call from now on */
LOCAL int host_begin(struct host_call *, uint32_t function);
LOCAL void host_word(struct host_call *, uint64_t);
LOCAL void host_bytes(struct host_call *, const void *, uint64_t);
LOCAL void host_text(struct host_call *, const char *);
LOCAL int host_send(struct host_call *);        /* the status; the answer is read next */
LOCAL uint64_t host_answer_word(struct host_call *);
LOCAL void host_answer_out(struct host_call *, void *, unsigned size);
LOCAL uint64_t host_answer_bytes(struct host_call *, void *, uint64_t most);
LOCAL int host_end(struct host_call *);
LOCAL void host_missing(const char *name, const char *status);
LOCAL int host_is_device(uint64_t address);

/* The runtime's own state. */
LOCAL int runtime_enter(void);                  /* the primary context becomes current */
LOCAL int runtime_status(int status);           /* keep it for cudaGetLastError */

/* By name: generated. */
LOCAL void *host_function(const char *name, int version);

#endif
