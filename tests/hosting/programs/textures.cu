// Textures of every kind of resource, views of them, surfaces of every shape and of levels.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>
static int wrong;
#define OK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_));                    \
            wrong++;                                                                               \
            cudaGetLastError();                                                                    \
        }                                                                                          \
    } while (0)
#define TRUE(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("line %d: not %s\n", __LINE__, #x);                                             \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)
__global__ void fetch1(cudaTextureObject_t t, float *o) { *o = tex1Dfetch<float>(t, 5); }
__global__ void fetch2(cudaTextureObject_t t, float x, float y, float *o)
{
    *o = tex2D<float>(t, x, y);
}
__global__ void fetchLod(cudaTextureObject_t t, float x, float y, float l, float *o)
{
    *o = tex2DLod<float>(t, x, y, l);
}
__global__ void fetchLayer(cudaTextureObject_t t, float x, float y, int l, float *o)
{
    *o = tex2DLayered<float>(t, x, y, l);
}
__global__ void fetchCube(cudaTextureObject_t t, float x, float y, float z, float *o)
{
    *o = texCubemap<float>(t, x, y, z);
}
__global__ void fetch3(cudaTextureObject_t t, float x, float y, float z, float *o)
{
    *o = tex3D<float>(t, x, y, z);
}
__global__ void fetchU(cudaTextureObject_t t, float x, float *o) { *o = tex1D<float>(t, x); }
__global__ void fill(cudaSurfaceObject_t s, int w, float v)
{
    surf2Dwrite(v + threadIdx.x, s, threadIdx.x * 4, threadIdx.y);
}
__global__ void gather(cudaTextureObject_t t, float *o)
{
    float4 g = tex2Dgather<float4>(t, 1.0f, 1.0f, 0);
    o[0] = g.x;
    o[1] = g.y;
    o[2] = g.z;
    o[3] = g.w;
}
static float *o;
static float get(int i = 0)
{
    float v;
    OK(cudaGetLastError());
    OK(cudaMemcpy(&v, o + i, 4, cudaMemcpyDeviceToHost));
    return v;
}
static cudaTextureObject_t make(const cudaResourceDesc &r,
                                cudaTextureFilterMode f = cudaFilterModePoint, bool norm = false,
                                const cudaResourceViewDesc *view = nullptr)
{
    cudaTextureDesc d = {};
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = cudaAddressModeClamp;
    d.filterMode = f;
    d.normalizedCoords = norm;
    d.readMode = cudaReadModeElementType;
    d.mipmapFilterMode = cudaFilterModePoint;
    d.maxMipmapLevelClamp = 10;
    cudaTextureObject_t t = 0;
    OK(cudaCreateTextureObject(&t, &r, &d, view));
    return t;
}
// Each thread moves an element one to the right, and reads it outside of the row.
template <class T> __global__ void moved(cudaSurfaceObject_t s, int kind, T *outside)
{
    const int i = threadIdx.x, size = sizeof(T);
    T v;
    if (kind == 0) {
        surf1Dread(&v, s, i * size);
        __syncthreads();
        surf1Dwrite(v, s, (i + 1) * size, cudaBoundaryModeZero);
        outside[i] = surf1Dread<T>(s, -size, cudaBoundaryModeClamp);
    } else if (kind == 1) {
        surf2Dread(&v, s, i * size, 1);
        __syncthreads();
        surf2Dwrite(v, s, (i + 1) * size, 1, cudaBoundaryModeZero);
        outside[i] = surf2Dread<T>(s, i * size, 9, cudaBoundaryModeZero);
    } else if (kind == 2) {
        surf3Dread(&v, s, i * size, 1, 1);
        __syncthreads();
        surf3Dwrite(v, s, (i + 1) * size, 1, 1, cudaBoundaryModeZero);
        outside[i] = surf3Dread<T>(s, 0, 0, 1);
    } else {
        surf2DLayeredread(&v, s, i * size, 1, 1);
        __syncthreads();
        surf2DLayeredwrite(v, s, (i + 1) * size, 1, 1, cudaBoundaryModeZero);
        outside[i] = surf2DLayeredread<T>(s, 0, 0, 1);
    }
}
template <class T> static void shapes()
{
    const int w = 4;
    for (int kind = 0; kind < 4; kind++) {
        const int rows = kind ? 2 : 1, layers = kind > 1 ? 2 : 1, n = w * rows * layers;
        std::vector<unsigned char> bytes(n * sizeof(T)), back(n * sizeof(T)), far(w * sizeof(T));
        for (size_t k = 0; k < bytes.size(); k++)
            bytes[k] = k * 7 + 1;
        auto desc = cudaCreateChannelDesc<T>();
        cudaArray_t a;
        cudaExtent e = make_cudaExtent(w, kind ? 2 : 0, kind > 1 ? 2 : 0);
        OK(cudaMalloc3DArray(&a, &desc, e, cudaArraySurfaceLoadStore | (kind == 3 ? cudaArrayLayered : 0)));
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(bytes.data(), w * sizeof(T), w, rows);
        p.dstArray = a;
        p.extent = make_cudaExtent(w, rows, layers);
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        cudaSurfaceObject_t s;
        OK(cudaCreateSurfaceObject(&s, &r));
        T *outside;
        OK(cudaMalloc(&outside, w * sizeof(T)));
        moved<T><<<1, w>>>(s, kind, outside);
        OK(cudaMemcpy(far.data(), outside, far.size(), cudaMemcpyDeviceToHost));
        cudaMemcpy3DParms q = {};
        q.srcArray = a;
        q.dstPtr = make_cudaPitchedPtr(back.data(), w * sizeof(T), w, rows);
        q.extent = p.extent;
        q.kind = cudaMemcpyDeviceToHost;
        OK(cudaMemcpy3D(&q));
        const size_t row = (n - w) * sizeof(T), size = sizeof(T);
        TRUE(!memcmp(&back[row], &bytes[row], size));
        TRUE(!memcmp(&back[row + size], &bytes[row], (w - 1) * size));
        if (kind == 0)
            TRUE(!memcmp(far.data(), &bytes[0], size));
        else if (kind == 1)
            TRUE(far[0] == 0 && far[far.size() - 1] == 0);
        else
            TRUE(!memcmp(far.data(), &bytes[2 * w * size], size));
        OK(cudaFree(outside));
    }
}
int main()
{
    OK(cudaMalloc(&o, 64));
    shapes<unsigned char>();
    shapes<short>();
    shapes<float>();
    shapes<uint2>();
    shapes<float4>();
    auto desc = cudaCreateChannelDesc<float>();
    std::vector<float> h(4096);
    for (int i = 0; i < 4096; i++)
        h[i] = i;
    float *lin;
    OK(cudaMalloc(&lin, 4096 * 4));
    OK(cudaMemcpy(lin, h.data(), 4096 * 4, cudaMemcpyHostToDevice));
    {
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeLinear;
        r.res.linear = {lin, desc, 4096 * 4};
        auto t = make(r);
        fetch1<<<1, 1>>>(t, o);
        TRUE(get() == 5);
        OK(cudaDestroyTextureObject(t));
    }
    {
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypePitch2D;
        r.res.pitch2D = {lin, desc, 16, 8, 128};
        auto t = make(r);
        fetch2<<<1, 1>>>(t, 3.5f, 2.5f, o);
        TRUE(get() == 3 + 2 * 32);
        auto l = make(r, cudaFilterModeLinear, true);
        fetch2<<<1, 1>>>(l, 0.5f, 0.5f, o);
        TRUE(get() == (7.5f + 3.5f * 32));
    }
    {
        cudaArray_t a;
        OK(cudaMallocArray(&a, &desc, 16, 8, cudaArrayTextureGather));
        OK(cudaMemcpy2DToArray(a, 0, 0, h.data(), 64, 64, 8, cudaMemcpyHostToDevice));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        auto t = make(r, cudaFilterModeLinear);
        fetch2<<<1, 1>>>(t, 3.0f, 2.0f, o);
        TRUE(get() == 2.5f + 1.5f * 16);
        gather<<<1, 1>>>(t, o);
        TRUE(get(0) == 16 && get(1) == 17 && get(2) == 1 && get(3) == 0);
        cudaResourceViewDesc v = {};
        v.format = cudaResViewFormatFloat1;
        v.width = 16;
        v.height = 8;
        auto w = make(r, cudaFilterModePoint, false, &v);
        fetch2<<<1, 1>>>(w, 3.5f, 2.5f, o);
        TRUE(get() == 35);
        cudaResourceViewDesc back;
        OK(cudaGetTextureObjectResourceViewDesc(&back, w));
        TRUE(back.width == 16);
        v.format = cudaResViewFormatSignedInt1;
        auto z = make(r, cudaFilterModePoint, false, &v);
        (void)z;
    }
    {
        cudaMipmappedArray_t m;
        OK(cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(16, 8, 0), 4,
                                    cudaArraySurfaceLoadStore));
        for (int l = 0; l < 4; l++) {
            cudaArray_t a;
            OK(cudaGetMipmappedArrayLevel(&a, m, l));
            int w = 16 >> l, hh = 8 >> l;
            cudaExtent e;
            cudaChannelFormatDesc c;
            unsigned f;
            OK(cudaArrayGetInfo(&c, &e, &f, a));
            TRUE((int)e.width == w && (int)e.height == hh);
            cudaResourceDesc r = {};
            r.resType = cudaResourceTypeArray;
            r.res.array.array = a;
            cudaSurfaceObject_t s = 0;
            OK(cudaCreateSurfaceObject(&s, &r));
            if (s)
                fill<<<1, dim3(w, hh)>>>(s, w, 1000 * l);
            OK(cudaDeviceSynchronize());
        }
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeMipmappedArray;
        r.res.mipmap.mipmap = m;
        auto t = make(r, cudaFilterModePoint, true);
        for (int l = 0; l < 4; l++) {
            fetchLod<<<1, 1>>>(t, 0.0f, 0.0f, l, o);
            TRUE(get() == 1000 * l);
        }
        cudaResourceViewDesc v = {};
        v.format = cudaResViewFormatFloat1;
        v.width = 16;
        v.height = 8;
        v.firstMipmapLevel = 1;
        v.lastMipmapLevel = 2;
        auto w = make(r, cudaFilterModePoint, true, &v);
        fetchLod<<<1, 1>>>(w, 0.0f, 0.0f, 0, o);
        TRUE(get() == 1000);
        fetchLod<<<1, 1>>>(w, 0.0f, 0.0f, 3, o);
        TRUE(get() == 2000);
    }
    {
        cudaArray_t a;
        OK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(8, 8, 4), cudaArrayLayered));
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(h.data(), 32, 8, 8);
        p.dstArray = a;
        p.extent = make_cudaExtent(8, 8, 4);
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        auto t = make(r);
        fetchLayer<<<1, 1>>>(t, 2.5f, 3.5f, 2, o);
        TRUE(get() == 2 + 24 + 128);
    }
    {
        cudaArray_t a;
        OK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(8, 8, 6), cudaArrayCubemap));
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(h.data(), 32, 8, 8);
        p.dstArray = a;
        p.extent = make_cudaExtent(8, 8, 6);
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        auto t = make(r, cudaFilterModePoint, true);
        fetchCube<<<1, 1>>>(t, 0.1f, 0.1f, 1.0f, o);
        float v = get();
        TRUE(v >= 4 * 64 && v < 5 * 64);
    }
    {
        cudaArray_t a;
        OK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(8, 8, 8)));
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(h.data(), 32, 8, 8);
        p.dstArray = a;
        p.extent = make_cudaExtent(8, 8, 8);
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        auto t = make(r);
        fetch3<<<1, 1>>>(t, 1.5f, 2.5f, 3.5f, o);
        TRUE(get() == 1 + 16 + 192);
    }
    {
        unsigned char b[8] = {0, 51, 102, 153, 204, 255, 0, 0};
        auto d8 = cudaCreateChannelDesc<unsigned char>();
        cudaArray_t a;
        OK(cudaMallocArray(&a, &d8, 8));
        OK(cudaMemcpy2DToArray(a, 0, 0, b, 8, 8, 1, cudaMemcpyHostToDevice));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        cudaTextureDesc d = {};
        d.readMode = cudaReadModeNormalizedFloat;
        d.filterMode = cudaFilterModePoint;
        cudaTextureObject_t t;
        OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
        fetchU<<<1, 1>>>(t, 1.5f, o);
        TRUE(get() > 0.1999f && get() < 0.2001f);
    }
    printf("%d wrong\n", wrong);
    return wrong;
}
