// Libraries that a program loads itself, batches, memory of another process, occupancy of clusters.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

static int wrong;
#define EXPECT(what) \
    if (!(what)) printf("line %d: %s\n", __LINE__, #what), wrong++;
#define OK(call) EXPECT((call) == 0)

__global__ void add(int *x, int n) { x[threadIdx.x] += n; }

static const char *PTX = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 kept = 77;
.visible .entry put(.param .u64 p, .param .u32 v)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [v];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

static void libraries(int *memory)
{
    cudaLibrary_t library;
    cudaKernel_t kernel, listed[4] = {};
    unsigned count = 0;
    void *place = nullptr;
    size_t bytes = 0;
    OK(cudaLibraryLoadData(&library, PTX, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    EXPECT(count == 1);
    OK(cudaLibraryEnumerateKernels(listed, 4, library));
    OK(cudaLibraryGetKernel(&kernel, library, "put"));
    EXPECT(listed[0] == kernel && !listed[1]);
    EXPECT(cudaLibraryGetKernel(&kernel, library, "gone") == cudaErrorSymbolNotFound);
    OK(cudaLibraryGetGlobal(&place, &bytes, library, "kept"));
    int value = 0, given = 5;
    OK(cudaMemcpy(&value, place, 4, cudaMemcpyDefault));
    EXPECT(bytes == 4 && value == 77);
    void *params[] = {&memory, &given};
    OK(cudaLaunchKernel((const void *)listed[0], 1, 1, params, 0, nullptr));
    OK(cudaMemcpy(&value, memory, 4, cudaMemcpyDefault));
    EXPECT(value == 5);
    OK(cudaLibraryUnload(library));
}

static void batches(int *memory)
{
    CUstreamBatchMemOpParams list[2] = {};
    list[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    list[0].writeValue.address = (CUdeviceptr)(memory + 3);
    list[0].writeValue.value = 40;
    list[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    list[1].waitValue.address = (CUdeviceptr)(memory + 3);
    list[1].waitValue.value = 40;
    list[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    OK(cuStreamBatchMemOp(nullptr, 2, list, 0));
    cudaLaunchConfig_t config = {};
    config.gridDim = 4, config.blockDim = 64;
    int clusters = 0;
    OK(cudaOccupancyMaxActiveClusters(&clusters, add, &config));
    EXPECT(clusters > 0);
    size_t texels = 0;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&texels, &desc, 0));
    EXPECT(texels >= 1 << 27);
}

static int other(const char *text)
{
    cudaIpcMemHandle_t handle;
    int *memory = nullptr;
    for (unsigned n = 0; n < sizeof handle; n++)
        sscanf(text + 2 * n, "%2hhx", (unsigned char *)&handle + n);
    OK(cudaIpcOpenMemHandle((void **)&memory, handle, cudaIpcMemLazyEnablePeerAccess));
    add<<<1, 4>>>(memory, 100);
    OK(cudaDeviceSynchronize());
    OK(cudaIpcCloseMemHandle(memory));
    return wrong;
}

static void processes(const char *self, int *memory)
{
    cudaIpcMemHandle_t handle;
    std::string line = std::string(self) + " ";
    char digits[3];
    OK(cudaIpcGetMemHandle(&handle, memory));
    for (unsigned n = 0; n < sizeof handle; n++) {
        snprintf(digits, sizeof digits, "%02x", ((unsigned char *)&handle)[n]);
        line += digits;
    }
    void *own;
    EXPECT(cudaIpcOpenMemHandle(&own, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
    OK(system(line.c_str()));
    int values[4];
    OK(cudaMemcpy(values, memory, sizeof values, cudaMemcpyDeviceToHost));
    EXPECT(values[0] == 105 && values[3] == 140);
}

int main(int count, char **words)
{
    if (count > 1)
        return other(words[1]);
    int *memory;
    OK(cudaMalloc(&memory, 64));
    libraries(memory);
    batches(memory);
    processes(words[0], memory);
    cudaGetLastError();
    OK(cudaGetLastError());
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
