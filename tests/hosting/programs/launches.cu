// Launches with attributes, linked and legacy ones; texture references; mistakes in each.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
static int wrong;
#define OK(call)                                                                                   \
    do {                                                                                           \
        int e_ = (int)(call);                                                                      \
        if (e_) {                                                                                  \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName((cudaError_t)e_));       \
            wrong++;                                                                               \
            cudaGetLastError();                                                                    \
        }                                                                                          \
    } while (0)
#define IS(want, call)                                                                             \
    do {                                                                                           \
        int e_ = (int)(call);                                                                      \
        if (e_ != (int)(want)) {                                                                   \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName((cudaError_t)e_));       \
            wrong++;                                                                               \
        }                                                                                          \
        cudaGetLastError();                                                                        \
    } while (0)
#define TRUE(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("line %d: not %s\n", __LINE__, #x);                                             \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)
__global__ void ranks(int *p)
{
    if (threadIdx.x == 0)
        p[blockIdx.x] = blockIdx.x;
}
__global__ void whole(int *p, int *q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    q[i] = p[i] = i;
}
static const char *A =
    ".version 7.0\n.target sm_80\n.address_size 64\n.extern .func (.reg .u32 r) twice (.reg .u32 "
    "x);\n.visible .entry k(.param .u64 p) { .reg .u64 %a; .reg .u32 %v; ld.param.u64 %a, [p]; "
    "ld.global.u32 %v, [%a]; call (%v), twice, (%v); st.global.u32 [%a], %v; ret; }\n";
static const char *B = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .func (.reg .u32 "
                       "r) twice (.reg .u32 x) { add.u32 r, x, x; ret; }\n";
static const char *T =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .texref tex;\n.visible .entry "
    "k(.param .u64 p, .param .f32 f, .param .u32 n) { .reg .u64 %a; .reg .f32 %v<4>; .reg .f32 %x; "
    ".reg .u32 %n; .reg .s32 %i; ld.param.u64 %a, [p]; ld.param.f32 %x, [f]; tex.1d.v4.f32.f32 "
    "{%v0,%v1,%v2,%v3}, [tex, {%x}]; st.global.f32 [%a], %v0; ret; }\n";
int main()
{
    int sm;
    OK(cudaDeviceGetAttribute(&sm, cudaDevAttrComputeCapabilityMajor, 0));
    int *p, *q;
    OK(cudaMalloc(&p, 4096));
    OK(cudaMalloc(&q, 4096));
    int h[64];
    cudaLaunchConfig_t c = {};
    c.gridDim = dim3(8);
    c.blockDim = dim3(32);
    cudaLaunchAttribute a[2];
    a[0].id = cudaLaunchAttributeClusterDimension;
    a[0].val.clusterDim.x = 4;
    a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
    c.attrs = a;
    c.numAttrs = 1;
    if (sm >= 9) {
        OK(cudaLaunchKernelEx(&c, ranks, p));
        OK(cudaMemcpy(h, p, 32, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 8; i++)
            TRUE(h[i] == i);
        int n;
        OK(cudaOccupancyMaxActiveClusters(&n, ranks, &c));
        TRUE(n > 0);
        OK(cudaOccupancyMaxPotentialClusterSize(&n, ranks, &c));
        TRUE(n == 8);
        a[0].val.clusterDim.x = 3;
        IS(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&c, ranks, p));
        a[0].val.clusterDim.x = 16;
        c.gridDim = dim3(16);
        IS(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&c, ranks, p));
        OK(cudaFuncSetAttribute(ranks, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        OK(cudaOccupancyMaxPotentialClusterSize(&n, ranks, &c));
        TRUE(n == 16);
    } else {
        IS(cudaErrorNotSupported, cudaLaunchKernelEx(&c, ranks, p));
    }
    a[0].id = cudaLaunchAttributeCooperative;
    a[0].val.cooperative = 1;
    c.gridDim = dim3(2);
    a[1].id = cudaLaunchAttributePriority;
    a[1].val.priority = -1;
    c.numAttrs = 2;
    OK(cudaLaunchKernelEx(&c, whole, p, q));
    OK(cudaMemcpy(h, q, 256, cudaMemcpyDeviceToHost));
    TRUE(h[0] == 0 && h[63] == 63);
    c.gridDim = dim3(100000);
    IS(cudaErrorCooperativeLaunchTooLarge, cudaLaunchKernelEx(&c, whole, p, q));
    void *args[] = {&p, &q};
    OK(cudaLaunchCooperativeKernel((void *)whole, dim3(2), dim3(32), args, 0, 0));
    IS(cudaErrorInvalidConfiguration,
       cudaLaunchKernel((void *)whole, dim3(1), dim3(2048), args, 0, 0));
    IS(cudaErrorInvalidDeviceFunction,
       cudaLaunchKernel((void *)&wrong, dim3(1), dim3(1), args, 0, 0));
    // linking
    CUlinkState l;
    void *cubin;
    size_t size;
    OK(cuLinkCreate(0, 0, 0, &l));
    OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)A, strlen(A) + 1, "a.ptx", 0, 0, 0));
    OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)B, strlen(B) + 1, "b.ptx", 0, 0, 0));
    CUresult done = cuLinkComplete(l, &cubin, &size);
    if (done == CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
        printf("linking was left out: no linker for device code is installed\n");
    else if (done) {
        printf("link %d\n", done);
        wrong++;
    } else {
        CUmodule m;
        CUfunction f;
        OK(cuModuleLoadData(&m, cubin));
        OK(cuLinkDestroy(l));
        OK(cuModuleGetFunction(&f, m, "k"));
        int v = 21;
        OK(cudaMemcpy(p, &v, 4, cudaMemcpyDefault));
        void *pa[] = {&p};
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, pa, 0));
        OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault));
        TRUE(v == 42);
        CUlaunchConfig dc = {};
        dc.gridDimX = dc.gridDimY = dc.gridDimZ = dc.blockDimX = dc.blockDimY = dc.blockDimZ = 1;
        OK(cuLaunchKernelEx(&dc, f, pa, 0));
        OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault));
        TRUE(v == 84);
        OK(cuFuncSetBlockShape(f, 1, 1, 1));
        OK(cuParamSetSize(f, 8));
        OK(cuParamSetv(f, 0, &p, 8));
        OK(cuLaunch(f));
        OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault));
        TRUE(v == 168);
        OK(cuLaunchGrid(f, 1, 1));
        OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault));
        TRUE(v == 336);
    }
    OK(cuLinkCreate(0, 0, 0, &l));
    OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)A, strlen(A) + 1, "a.ptx", 0, 0, 0));
    TRUE(cuLinkComplete(l, &cubin, &size) != 0);
    // references
    CUmodule m;
    CUfunction f;
    CUtexref r;
    OK(cuModuleLoadData(&m, T));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuModuleGetTexRef(&r, m, "tex"));
    CUDA_ARRAY_DESCRIPTOR d = {4, 0, CU_AD_FORMAT_FLOAT, 1};
    CUarray arr;
    OK(cuArrayCreate(&arr, &d));
    float t[4] = {1, 2, 4, 8};
    OK(cuMemcpyHtoA(arr, 0, t, 16));
    OK(cuTexRefSetArray(r, arr, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefSetFilterMode(r, CU_TR_FILTER_MODE_LINEAR));
    OK(cuTexRefSetAddressMode(r, 0, CU_TR_ADDRESS_MODE_CLAMP));
    CUaddress_mode am;
    OK(cuTexRefGetAddressMode(&am, r, 0));
    TRUE(am == CU_TR_ADDRESS_MODE_CLAMP);
    CUfilter_mode fm;
    OK(cuTexRefGetFilterMode(&fm, r));
    TRUE(fm == CU_TR_FILTER_MODE_LINEAR);
    CUarray ga;
    OK(cuTexRefGetArray(&ga, r));
    TRUE(ga == arr);
    CUarray_format ff;
    int nc;
    OK(cuTexRefGetFormat(&ff, &nc, r));
    TRUE(ff == CU_AD_FORMAT_FLOAT && nc == 1);
    unsigned fl;
    OK(cuTexRefGetFlags(&fl, r));
    TRUE(fl == 0);
    float x = 2.0f, got;
    int n = 0;
    void *ta[] = {&p, &x, &n};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ta, 0));
    OK(cudaMemcpy(&got, p, 4, cudaMemcpyDefault));
    TRUE(got == 3.0f);
    float border[4] = {7, 0, 0, 0}, back[4];
    OK(cuTexRefSetBorderColor(r, border));
    OK(cuTexRefGetBorderColor(back, r));
    TRUE(back[0] == 7);
    OK(cuTexRefSetAddressMode(r, 0, CU_TR_ADDRESS_MODE_BORDER));
    OK(cuTexRefSetFilterMode(r, CU_TR_FILTER_MODE_POINT));
    x = 9;
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ta, 0));
    OK(cudaMemcpy(&got, p, 4, cudaMemcpyDefault));
    TRUE(got == 7);
    OK(cuTexRefSetMaxAnisotropy(r, 4));
    int an;
    OK(cuTexRefGetMaxAnisotropy(&an, r));
    TRUE(an == 4);
    OK(cuTexRefSetMipmapLevelClamp(r, 0, 3));
    float lo, hi;
    OK(cuTexRefGetMipmapLevelClamp(&lo, &hi, r));
    TRUE(hi == 3);
    printf("%d wrong\n", wrong);
    return wrong;
}
