// A loop that asks for attention with a trap on some of its turns.
extern "C" __global__ void probe(int *out, int turns)
{
    int sum = 0;
    for (int i = 0; i < turns; i++) {
        sum += i * (int)threadIdx.x;
        if ((i & 3) == 3)
            __brkpt();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
