// C = A * B: A row-major f16, B column-major f16, C row-major f32; n a multiple of 64.
// A block of 4 warps makes 64x64 elements of C with mma.sync m16n8k16 from tiles in shared memory.
extern "C" __global__ void __launch_bounds__(128)
gemm_f16(const unsigned short *a, const unsigned short *b, float *c, int n)
{
    __shared__ __align__(16) unsigned short sa[64 * 40], sb[64 * 40];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float acc[8][4] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int piece = tid; piece < 256; piece += 128) {
            const int r = piece >> 2, q = (piece & 3) * 8;
            *(uint4 *)&sa[r * 40 + q] = *(const uint4 *)&a[(row0 + r) * n + k0 + q];
            *(uint4 *)&sb[r * 40 + q] = *(const uint4 *)&b[(col0 + r) * n + k0 + q];
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            unsigned x[4];
            unsigned at = (unsigned)__cvta_generic_to_shared(
                &sa[(warp * 16 + (lane & 15)) * 40 + k + (lane >> 4) * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                unsigned y[2];
                unsigned bt = (unsigned)__cvta_generic_to_shared(
                    &sb[(j * 8 + (lane & 7)) * 40 + k + ((lane >> 3) & 1) * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                             : "=r"(y[0]), "=r"(y[1]) : "r"(bt));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                             "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++)
        for (int h = 0; h < 2; h++) {
            const int r = row0 + warp * 16 + (lane >> 2) + 8 * h, q = col0 + j * 8 + (lane & 3) * 2;
            *(float2 *)&c[r * n + q] = make_float2(acc[j][2 * h], acc[j][2 * h + 1]);
        }
}
