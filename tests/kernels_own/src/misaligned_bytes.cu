// Packed records read and written by bytes: 16-, 32- and 64-bit fields at odd offsets.
#pragma pack(push, 1)
struct Record {
    unsigned char kind;
    unsigned short length;
    unsigned value;
    unsigned long long stamp;
    float weight;
};
#pragma pack(pop)

template <class T> __device__ T fetch(const unsigned char *p)
{
    T r;
    unsigned char *q = (unsigned char *)&r;
    for (int i = 0; i < sizeof(T); ++i) q[i] = p[i];
    return r;
}

extern "C" __global__ void misaligned_bytes(Record *records, unsigned long long *sums, const unsigned char *raw)
{
    int t = threadIdx.x;
    Record r = records[t];
    r.length += r.kind;
    r.value ^= r.length;
    r.stamp = r.stamp * 3 + r.value;
    r.weight *= -2.0f;
    records[t] = r;
    unsigned long long at = fetch<unsigned long long>(raw + t * 5 + 1);
    sums[t] = at + fetch<unsigned>(raw + t * 3 + 2) + fetch<short>(raw + t + 7) + sizeof(Record);
}
