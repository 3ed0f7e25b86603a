// Function pointers in a table, virtual calls, printf and a switch, from two kernels.
typedef int (*op)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ op table[2] = {add, mul};

struct B { __device__ virtual int f(int x) { return x + 1; } };
struct D : B { __device__ int f(int x) override { return x * 3; } };

extern "C" __global__ void k1(int *o, int s) {
    o[threadIdx.x] = table[s](o[threadIdx.x], 3);
}

extern "C" __global__ void k2(int *o, int s) {
    B b;
    D d;
    B *p = s ? &b : (B *)&d;
    o[threadIdx.x] = table[1](o[threadIdx.x], 3) + p->f(5);
    printf("hi %d\n", s);
    switch (o[0]) {
        case 0: o[1] = 3; break;
        case 1: o[2] = 5; break;
        case 2: o[1] = 6; break;
        case 3: o[3] = 6; break;
        case 4: o[2] = 4; break;
    }
}
