__device__ __noinline__ int branchy(int t)
{
    int r = 0;
    if (t < 8) {
        r = t * 5;
    } else if (t < 20) {
        int z = t - 8;
        do {
            r += z * 3;
            z -= 4;
        } while (z > 0);
    } else {
        r = -t;
    }
    return r;
}
extern "C" __global__ void stayed(int *out)
{
    int t = threadIdx.x;
    int sum = branchy(t);
    int mask[2] = {t, sum};
    for (int *q = mask; q < mask + 2; ++q) {
        int old = *q;
        *q = old << 1;
    }
    switch (t & 3) {
    case 0:
        sum += 1;
        break;
    case 1: {
        int extra = sum * 2;
        sum -= extra;
        break;
    }
    default:
        sum = -1;
    }
    out[t] = mask[0] + mask[1] + sum;
}
