// 5x5 convolution with a halo tile in shared memory and weights in a constant struct.
#define R 2
#define TILE 16
struct Filter {
    float weight[2 * R + 1][2 * R + 1];
    float bias;
    int relu;
};
__constant__ Filter filter;

extern "C" __global__ void conv2d_halo(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE + 2 * R][TILE + 2 * R + 1];
    int bx = blockIdx.x * TILE, by = blockIdx.y * TILE;
    for (int j = threadIdx.y; j < TILE + 2 * R; j += blockDim.y)
        for (int i = threadIdx.x; i < TILE + 2 * R; i += blockDim.x) {
            int x = bx + i - R, y = by + j - R;
            bool in_image = x >= 0 && y >= 0 && x < width && y < height;
            tile[j][i] = in_image ? in[y * width + x] : 0.0f;
        }
    __syncthreads();
    for (int j = threadIdx.y; j < TILE; j += blockDim.y) {
        int i = threadIdx.x, x = bx + i, y = by + j;
        if (x >= width || y >= height) continue;
        float sum = filter.bias;
        for (int v = 0; v <= 2 * R; ++v)
            for (int u = 0; u <= 2 * R; ++u)
                sum = fmaf(filter.weight[v][u], tile[j + v][i + u], sum);
        out[y * width + x] = filter.relu ? fmaxf(sum, 0.0f) : sum;
    }
}
