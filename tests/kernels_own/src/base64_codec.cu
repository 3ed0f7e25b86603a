// Base64, both ways: 3 bytes or 4 letters per thread, padding at the end, errors counted.
__constant__ char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
__device__ unsigned bad;

extern "C" __global__ void encode(const unsigned char *in, int n, char4 *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, i = 3 * t;
    if (i >= n) return;
    unsigned v = in[i] << 16;
    if (i + 1 < n) v |= in[i + 1] << 8;
    if (i + 2 < n) v |= in[i + 2];
    char4 q;
    q.x = letters[v >> 18];
    q.y = letters[v >> 12 & 63];
    q.z = i + 1 < n ? letters[v >> 6 & 63] : '=';
    q.w = i + 2 < n ? letters[v & 63] : '=';
    out[t] = q;
}

__device__ int value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    switch (c) {
    case '+': return 62;
    case '/': return 63;
    case '=': return 0;
    }
    atomicAdd(&bad, 1);
    return -1;
}

extern "C" __global__ void decode(const char4 *in, int n, unsigned char *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, i = 3 * t;
    if (i >= n) return;
    char4 q = in[t];
    unsigned v = value(q.x) << 18 | value(q.y) << 12 | value(q.z) << 6 | value(q.w);
    out[i] = v >> 16;
    if (i + 1 < n) out[i + 1] = v >> 8;
    if (i + 2 < n) out[i + 2] = v;
}
