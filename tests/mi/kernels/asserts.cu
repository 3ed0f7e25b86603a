// Thread 3 fails an assertion.
extern "C" __global__ void asserts(int *out)
{
    out[threadIdx.x] = 1;
    if (threadIdx.x == 3)
        __assertfail("out[3] == 2", "asserts.cu", 10, "asserts", 1);
    out[threadIdx.x] = 2;
}
