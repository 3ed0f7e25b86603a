// compile: --maxrregcount=16
// Fourteen numbers are mixed with one another, and all of them stay alive to the end. With 16
// registers for everything there is no room: some values wait in local memory ("spill").
extern "C" __global__ void mix(const int4 *in, int4 *out)
{
    int t = threadIdx.x;
    int4 a = in[t], b = in[t + 32], c = in[t + 64];
    int d = a.x * b.y, e = b.z * c.w;
    a.x += b.y ^ c.z;  a.y += b.z ^ c.w;  a.z += b.w ^ c.x;  a.w += b.x ^ c.y;
    b.x += c.y ^ a.z;  b.y += c.z ^ a.w;  b.z += c.w ^ a.x;  b.w += c.x ^ a.y;
    c.x += a.y ^ b.z;  c.y += a.z ^ b.w;  c.z += a.w ^ b.x;  c.w += a.x ^ b.y;
    a.x += d ^ e;      b.x += d & e;      c.x += d | e;
    out[t] = a;
    out[t + 32] = b;
    out[t + 64] = c;
}
