/* What a column has in common with one that is done is taken away from it: a thread a column. */
extern "C" __global__ void gramupdate(float *a, const float *q, float *r, int n, int column)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j <= column || j >= n)
        return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += q[i] * a[i * n + j];
    r[j] = sum;
    for (int i = 0; i < n; i++)
        a[i * n + j] -= q[i] * sum;
}
