// Vectors rotated by quaternions; operator overloading on small structs passed by value.
struct Q {
    float w, x, y, z;
    __device__ Q operator*(const Q &o) const
    {
        return {w * o.w - x * o.x - y * o.y - z * o.z, w * o.x + x * o.w + y * o.z - z * o.y,
                w * o.y - x * o.z + y * o.w + z * o.x, w * o.z + x * o.y - y * o.x + z * o.w};
    }
    __device__ Q operator~() const { return {w, -x, -y, -z}; }
    __device__ Q unit() const
    {
        float r = rsqrtf(w * w + x * x + y * y + z * z);
        return {w * r, x * r, y * r, z * r};
    }
};

extern "C" __global__ void quaternions(const float4 *turns, const float *points, float *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = turns[t];
    Q q = Q{v.x, v.y, v.z, v.w}.unit();
    Q p = {0, points[3 * t], points[3 * t + 1], points[3 * t + 2]};
    Q r = q * p * ~q;
    out[3 * t] = r.x;
    out[3 * t + 1] = r.y;
    out[3 * t + 2] = r.z;
}
