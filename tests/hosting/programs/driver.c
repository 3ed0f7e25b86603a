/* Fills, mistakes and what is not there, by the driver API. */
#include <cuda.h>
#include <stdio.h>

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr at;
    CUmodule module;
    int handle;
    unsigned words[64];
    printf("%d\n", cuDeviceGet(&device, 0) == CUDA_SUCCESS || cuCtxCreate(&context, 0, 0) == 3);
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate(&context, 0, device);
    cuMemAlloc(&at, 256);
    cuMemsetD32(at, 0xdeadbeef, 64);
    cuMemsetD8(at + 4, 7, 3);
    cuMemsetD16(at + 8, 0x1234, 2);
    cuMemsetD2D32(at + 16, 32, 5, 2, 3);
    int status = cuMemcpyDtoH(words, at, 256);
    printf("%d %x %x %x %x %x %x %x\n", status, words[0], words[1], words[2], words[5], words[6],
           words[13], words[20]);
    printf("%d\n", cuMemsetD32(at + 1, 0, 1));
    status = cuMemFree(at);
    printf("%d %d\n", status, cuMemFree(at));
    printf("%d %d\n", cuModuleLoadData(&module, "no code"), cuMemGetHandleForAddressRange(&handle, 0, 0, 1, 0));
    return 0;
}
