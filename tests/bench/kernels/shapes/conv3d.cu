/* One plane of a convolution in three dimensions: a launch each, as host code loops over planes. */
extern "C" __global__ void conv3d(const float *a, float *b, int n, int i)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < 1 || k < 1 || j >= n - 1 || k >= n - 1)
        return;
    const float *at = a + (i * n + j) * n + k;
    int plane = n * n;
    b[(i * n + j) * n + k] = 2.0f * at[-plane - n - 1] + 4.0f * at[plane - n - 1] + 5.0f * at[-plane - n]
        + 7.0f * at[plane - n] - 8.0f * at[-plane - n + 1] + 10.0f * at[plane - n + 1] - 3.0f * at[-n]
        + 6.0f * at[0] - 9.0f * at[n] + 2.0f * at[-plane + n - 1] + 4.0f * at[plane + n + 1];
}
