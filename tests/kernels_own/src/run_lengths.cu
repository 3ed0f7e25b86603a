// PackBits-like decoder and encoder, one stream per thread: byte loads, data-dependent loops.
extern "C" __global__ void unpack(const signed char *in, const int *start, unsigned char *out,
                                  int room, int *sizes)
{
    int t = threadIdx.x;
    const signed char *p = in + start[t], *end = in + start[t + 1];
    unsigned char *o = out + t * room;
    int n = 0;
    while (p < end) {
        int c = *p++;
        if (c == -128) continue;
        if (c >= 0)
            do o[n++] = *p++;
            while (c--);
        else {
            unsigned char v = *p++;
            for (c = 1 - c; c; --c) o[n++] = v;
        }
    }
    sizes[t] = n;
}

extern "C" __global__ void run_lengths(const unsigned char *in, const int *sizes, int room,
                                       uchar2 *out, int *counts)
{
    int t = threadIdx.x, n = sizes[t], k = 0;
    in += t * room;
    out += t * room;
    for (int i = 0; i < n;) {
        int j = i + 1;
        while (j < n && in[j] == in[i] && j - i < 255) ++j;
        out[k++] = make_uchar2(j - i, in[i]);
        i = j;
    }
    counts[t] = k;
}
