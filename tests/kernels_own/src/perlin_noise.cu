// Improved Perlin noise in 3D over a grid of blocks with z; the permutation is a device array.
__device__ unsigned char perm[256];

__device__ float fade(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }
__device__ float mixf(float t, float a, float b) { return a + t * (b - a); }
__device__ float grad(int hash, float x, float y, float z)
{
    int h = hash & 15;
    float u = h < 8 ? x : y;
    float v = h < 4 ? y : h == 12 || h == 14 ? x : z;
    return ((h & 1) ? -u : u) + ((h & 2) ? -v : v);
}
__device__ int p(int i) { return perm[i & 255]; }

extern "C" __global__ void perlin_noise(float scale, float *out)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int iz = blockIdx.z * blockDim.z + threadIdx.z;
    int nx = gridDim.x * blockDim.x, ny = gridDim.y * blockDim.y;
    float x = ix * scale - 3, y = iy * scale, z = iz * scale;
    int X = (int)floorf(x), Y = (int)floorf(y), Z = (int)floorf(z);
    x -= floorf(x); y -= floorf(y); z -= floorf(z);
    float u = fade(x), v = fade(y), w = fade(z), corner[8];
    for (int c = 0; c < 8; ++c) {
        int i = c & 1, j = c >> 1 & 1, k = c >> 2;
        corner[c] = grad(p(p(p(X + i) + Y + j) + Z + k), x - i, y - j, z - k);
    }
    float a = mixf(v, mixf(u, corner[0], corner[1]), mixf(u, corner[2], corner[3]));
    float b = mixf(v, mixf(u, corner[4], corner[5]), mixf(u, corner[6], corner[7]));
    out[(iz * ny + iy) * nx + ix] = mixf(w, a, b);
}
