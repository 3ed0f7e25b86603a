// A loop that ends only when somebody writes to stop.
extern "C" __global__ void endless(volatile int *stop, int *out)
{
    int turns = 0;
    while (*stop == 0) {
        turns += 1;
    }
    out[threadIdx.x] = turns;
}
