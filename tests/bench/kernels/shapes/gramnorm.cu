/* The norm of a column by one thread, while the others leave: what Gram-Schmidt begins each step with. */
extern "C" __global__ void gramnorm(const float *a, float *r, int n, int column)
{
    if (blockIdx.x * blockDim.x + threadIdx.x != 0)
        return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i * n + column] * a[i * n + column];
    r[0] = sqrtf(sum);
}
