/* Memory of cuMemCreate in two processes: a descriptor goes from one to the other by a socket. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_HANDLE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define SIZE ((size_t)2 << 20)
#define OK(call)                             \
    do {                                     \
        CUresult status = (call);            \
        if (status) {                        \
            printf("%s: %d\n", #call, status); \
            exit(9);                         \
        }                                    \
    } while (0)

static CUdeviceptr mapped(CUmemGenericAllocationHandle memory)
{
    CUdeviceptr at;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemAddressReserve(&at, SIZE, 0, 0, 0));
    OK(cuMemMap(at, SIZE, 0, memory, 0));
    OK(cuMemSetAccess(at, SIZE, &access, 1));
    return at;
}

static void begin(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* Send a descriptor, or receive one (-1). */
static int passed(int end, int file)
{
    char byte = 0, room[CMSG_SPACE(sizeof file)];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (file < 0) {
        recvmsg(end, &message, 0);
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
        return file;
    }
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
    sendmsg(end, &message, 0);
    return file;
}

static int other(int end)
{
    unsigned word;
    CUmemGenericAllocationHandle memory;
    begin();
    int file = passed(end, -1);
    OK(cuMemImportFromShareableHandle(&memory, (void *)(long)file, FILE_HANDLE));
    CUdeviceptr at = mapped(memory);
    OK(cuMemcpyDtoH(&word, at + 4, 4));
    word += 1;
    OK(cuMemcpyHtoD(at + 8, &word, 4));
    OK(cuMemRelease(memory));
    return 5;
}

int main(void)
{
    int ends[2], status, file = -1;
    unsigned word = 41;
    CUmemGenericAllocationHandle memory, own, none;
    CUmemAllocationProp about = {CU_MEM_ALLOCATION_TYPE_PINNED, FILE_HANDLE,
                                 {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    if (!fork())
        return other(ends[1]);
    begin();
    OK(cuMemCreate(&memory, SIZE, &about, 0));
    CUdeviceptr at = mapped(memory);
    OK(cuMemcpyHtoD(at + 4, &word, 4));
    OK(cuMemExportToShareableHandle(&file, memory, FILE_HANDLE, 0));
    passed(ends[0], file);
    wait(&status);
    OK(cuMemcpyDtoH(&word, at + 8, 4));
    about.requestedHandleTypes = 0;
    OK(cuMemCreate(&own, SIZE, &about, 0));
    printf("%d %u %d ", WEXITSTATUS(status), word,
           cuMemExportToShareableHandle(&file, own, FILE_HANDLE, 0));
    printf("%d\n", cuMemImportFromShareableHandle(&none, (void *)(long)ends[0], FILE_HANDLE));
    return 0;
}
