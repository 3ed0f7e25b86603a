#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct host_facts host_facts;
__thread uint64_t host_context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int channel = -1;
static int connected; /* 1: connected, -1: never again */
static int refusal = STATUS_NO_DEVICE; /* what calls get then */

struct request {
    uint32_t function, thread;
    uint64_t context, length;
};
struct answer {
    int32_t status;
    uint32_t printed;
    uint64_t length;
};

static int send_all(int fd, struct iovec *parts, int count)
{
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        while (count && (size_t)sent >= parts->iov_len) {
            sent -= parts->iov_len;
            parts++, count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= sent;
        }
    }
    return 0;
}

static int read_all(int fd, void *to, uint64_t size)
{
    char *at = to;
    while (size) {
        ssize_t got = recv(fd, at, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        at += got, size -= got;
    }
    return 0;
}

static void skip(int fd, uint64_t size)
{
    char scratch[4096];
    while (size) {
        uint64_t part = size < sizeof scratch ? size : sizeof scratch;
        if (read_all(fd, scratch, part))
            return;
        size -= part;
    }
}

/* After fork a child has neither the device nor the right to its parent's channel, as with CUDA. */
static void forget_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    if (connected == 1) {
        close(channel);
        channel = -1;
        connected = -1;
        refusal = STATUS_NOT_INITIALIZED;
    }
}

/* Hand one end of a new channel to the device's process over the socket that was inherited. */
static int hand_over(int broker, int end)
{
    uint32_t pid = getpid();
    struct iovec part = {&pid, sizeof pid};
    char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    memset(control, 0, sizeof control);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &end, sizeof end);
    return sendmsg(broker, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* The facts, with the file of the shared memory beside them. */
static int take_facts(int fd)
{
    int file = -1;
    struct iovec part = {&host_facts, sizeof host_facts};
    char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != sizeof host_facts)
        return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_type != SCM_RIGHTS)
        return -1;
    memcpy(&file, CMSG_DATA(head), sizeof file);
    uint64_t size = host_facts.shared_end - host_facts.shared_begin;
    void *wanted = (void *)host_facts.shared_begin;
    void *made = mmap(wanted, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
    if (made == MAP_FAILED)
        host_facts.shared_end = host_facts.shared_begin;
    else if (made != wanted) {
        munmap(made, size);
        host_facts.shared_end = host_facts.shared_begin;
    }
    /* It stays open: registered memory is mapped from it. */
    host_shared_file = file;
    return 0;
}

LOCAL int host_shared_file = -1;

static int connect_now(void)
{
    const char *number = getenv("GPUDBG_EXEC_FD");
    int ends[2];
    if (number == NULL)
        return -1;
    int broker = atoi(number);
    if (fcntl(broker, F_GETFD) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    if (hand_over(broker, ends[1])) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    close(ends[1]);
    channel = ends[0];
    return take_facts(channel);
}

int host_connect(void)
{
    pthread_mutex_lock(&lock);
    if (!connected) {
        static int prepared;
        if (!prepared) {
            prepared = 1;
            pthread_atfork(NULL, NULL, forget_in_child);
        }
        connected = connect_now() ? -1 : 1;
    }
    pthread_mutex_unlock(&lock);
    return connected == 1 ? STATUS_OK : refusal;
}

int host_begin(struct host_call *call, uint32_t function)
{
    call->used = 1;
    call->words_used = 0;
    call->function = function;
    call->length = call->left = 0;
    call->status = host_connect();
    return call->status;
}

static void add(struct host_call *call, const void *at, uint64_t size)
{
    if (!size)
        return;
    call->length += size;
    struct iovec *last = &call->parts[call->used - 1];
    if (call->used > 1 && (char *)last->iov_base + last->iov_len == at) {
        last->iov_len += size;
        return;
    }
    call->parts[call->used++] = (struct iovec){(void *)at, size};
}

void host_word(struct host_call *call, uint64_t value)
{
    uint64_t *at = &call->words[call->words_used++];
    *at = value;
    add(call, at, sizeof *at);
}

void host_bytes(struct host_call *call, const void *at, uint64_t size)
{
    if (at == NULL)
        size = 0;
    host_word(call, size);
    add(call, at, size);
}

void host_text(struct host_call *call, const char *text)
{
    host_bytes(call, text, text == NULL ? 0 : strlen(text));
}

/* What the device printed comes out here, in the order of the program's own output. */
static void print(struct host_call *call, uint32_t size)
{
    char part[4096];
    while (size) {
        uint32_t now = size < sizeof part ? size : sizeof part;
        if (read_all(channel, part, now))
            return;
        fwrite(part, 1, now, stdout);
        size -= now;
        call->left -= now;
    }
    fflush(stdout);
}

static void lost(void)
{
    close(channel);
    channel = -1;
    connected = -1;
}

int host_send(struct host_call *call)
{
    struct answer answer;
    struct request request = {call->function, (uint32_t)syscall(SYS_gettid), host_context,
                              call->length};
    if (call->status)
        return call->status;
    call->parts[0] = (struct iovec){&request, sizeof request};
    pthread_mutex_lock(&lock);
    if (connected != 1 || send_all(channel, call->parts, call->used) ||
        read_all(channel, &answer, sizeof answer)) {
        if (connected == 1)
            lost();
        pthread_mutex_unlock(&lock);
        call->left = 0;
        call->used = 0;
        return call->status = STATUS_NOT_INITIALIZED;
    }
    call->left = answer.length;
    call->used = -1; /* the lock is held until host_end */
    if (answer.printed)
        print(call, answer.printed);
    return call->status = answer.status;
}

static int take(struct host_call *call, void *to, uint64_t size)
{
    if (size > call->left)
        return -1;
    call->left -= size;
    return read_all(channel, to, size);
}

uint64_t host_answer_word(struct host_call *call)
{
    uint64_t value = 0;
    take(call, &value, sizeof value);
    return value;
}

void host_answer_out(struct host_call *call, void *to, unsigned size)
{
    uint64_t value = host_answer_word(call);
    if (to != NULL)
        memcpy(to, &value, size);
}

uint64_t host_answer_bytes(struct host_call *call, void *to, uint64_t most)
{
    uint64_t size = host_answer_word(call), part = size < most ? size : most;
    if (to == NULL)
        part = 0;
    take(call, to, part);
    if (size > part && size - part <= call->left) {
        skip(channel, size - part);
        call->left -= size - part;
    }
    return part;
}

int host_end(struct host_call *call)
{
    if (call->used == -1) {
        skip(channel, call->left);
        pthread_mutex_unlock(&lock);
    }
    return call->status;
}

int host_is_device(uint64_t address)
{
    return address >= host_facts.device_begin && address < host_facts.device_end;
}

void host_missing(const char *name, const char *status)
{
    static const char *said[256];
    static int count;
    for (int n = 0; n < count; n++)
        if (!strcmp(said[n], name))
            return;
    if (count < 256)
        said[count++] = name;
    fprintf(stderr, "gpudbg: %s is not there: the program gets %s\n", name, status);
}
