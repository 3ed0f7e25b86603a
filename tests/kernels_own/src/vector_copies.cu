// Loads and stores of every vector type, through global, shared and local memory.
struct alignas(16) Mixed {
    uint2 a;
    ushort4 b;
};
template <class T> __device__ void move(const T *in, T *out, int t, int n)
{
    __shared__ T area[32];
    area[31 - t] = in[t];
    __syncthreads();
    T local[3];
    for (int i = 0; i < 3; ++i) local[i] = area[(t + i) & 31];
    out[t] = local[n % 3];
    __syncthreads();
}

extern "C" __global__ void vector_copies(const char *in, char *out, int n)
{
    int t = threadIdx.x;
#define MOVE(T, at) move((const T *)(in + at), (T *)(out + at), t, n + t)
    MOVE(float4, 0);
    MOVE(uint2, 512);
    MOVE(longlong2, 1024);
    MOVE(uchar4, 1536);
    MOVE(short2, 1664);
    MOVE(double2, 2048);
    MOVE(char2, 2560);
    MOVE(ushort4, 2688);
    MOVE(unsigned char, 2624);
    MOVE(Mixed, 3072);
    MOVE(char3, 3584);
    MOVE(float3, 3840);
}
