// One dynamic shared allocation cut into arrays of different types, beside static arrays.
extern __shared__ __align__(16) unsigned char room[];

extern "C" __global__ void dynamic_shared(int n, const float *x, double *sums, unsigned short *ranks)
{
    __shared__ int order[64];
    double *d = (double *)room;
    float *f = (float *)(d + n);
    unsigned short *s = (unsigned short *)(f + n);
    unsigned char *flags = (unsigned char *)(s + n);
    int t = threadIdx.x;
    f[t] = x[blockIdx.x * n + t];
    flags[t] = f[t] < 0;
    __syncthreads();
    int rank = 0;
    for (int i = 0; i < n; ++i) rank += f[i] < f[t] || (f[i] == f[t] && i < t);
    s[t] = rank;
    order[rank] = t;
    __syncthreads();
    if (t == 0) {
        double sum = 0;
        for (int i = 0; i < n; ++i) {
            int j = order[i];
            sum += flags[j] ? -2.0 * f[j] : f[j];
            d[j] = sum;
        }
    }
    __syncthreads();
    sums[blockIdx.x * n + t] = d[t];
    ranks[blockIdx.x * n + t] = s[t];
}
