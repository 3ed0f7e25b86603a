// Half precision, bit-fields, a class with a virtual function, a pointer to a function, a string.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Base { int id; __device__ virtual int get(int x) { return id + x; } };
struct Der : Base { int k; __device__ int get(int x) override { return k * x; } };
struct Bits { unsigned a : 3; int b : 5; bool c : 1; };
union Word { int i; float f; };
__device__ __noinline__ int twice(int a, float b) { return a * 2 + (int)b; }
struct Row { const char *name; int (*fn)(int, float); Word word; };
extern "C" __global__ void numbers(float *out, int n)
{
    int i = threadIdx.x;
    __half h = __float2half(out[i] * 0.5f);
    __half2 h2 = __floats2half2_rn(1.5f, -2.25f);
    __nv_bfloat16 b = __float2bfloat16(out[i]);
    Der d; d.id = i; d.k = 7;
    Base *p = &d;
    Bits bits = { 5u, -3, true };
    Row row = { "hi", twice, { 3 } };
    out[i] = __half2float(h) + __low2float(h2) + __bfloat162float(b) + p->get(n) + bits.b
        + row.fn(i, 1.f) + row.name[0];
}
