#include "ptx.cuh"
// C = A * B^T in f16 with f32 sums: a producer warp and two consumer warp groups, three stages,
// tiles of A from a tensor map for each block, tiles of B shared by the two blocks of a cluster
#define STAGES 3
#define BM 128
#define BN 64
#define BK 64
DEV u64 desc(u32 a) { return (u64)(a >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62; }
DEV void load(const Map *m, u32 to, u32 bar, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(m), "r"(x), "r"(y), "r"(bar) : "memory");
}
DEV void load_both(const Map *m, u32 to, u32 bar, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(to), "l"(m), "r"(x), "r"(y), "r"(bar), "h"((unsigned short)3) : "memory");
}
DEV void remote_arrive(u32 bar)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}
extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
gemm(const __grid_constant__ Map ma, const __grid_constant__ Map mb, const __grid_constant__ Map mc, int k)
{
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ u64 full[STAGES], empty[STAGES];
    u32 a0 = sa(s), b0 = a0 + STAGES * BM * BK * 2, c0 = b0 + STAGES * BN * BK * 2;
    int t = threadIdx.x, group = t / 128, tiles = k / BK;
    int m0 = blockIdx.x * BM, n0 = blockIdx.y * BN;
    u32 me = rank();
    if (t == 0) {
        for (int n = 0; n < STAGES; n++) {
            init(full + n, 1);
            init(empty + n, 2 * 2);          // a lane of each consumer group of both blocks
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (t == 0)
            for (int i = 0; i < tiles; i++) {
                int n = i % STAGES;
                wait(empty + n, i / STAGES & 1 ^ 1);
                expect(full + n, (BM + BN) * BK * 2);
                load(&ma, a0 + n * BM * BK * 2, sa(full + n), i * BK, m0);
                load_both(&mb, b0 + n * BN * BK * 2 + me * (BN / 2) * BK * 2, sa(full + n), i * BK, n0 + me * (BN / 2));
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        float c[32] = {};
        for (int i = 0; i < tiles; i++) {
            int n = i % STAGES;
            wait(full + n, i / STAGES & 1);
            u64 da = desc(a0 + n * BM * BK * 2 + (group - 1) * 64 * BK * 2), db = desc(b0 + n * BN * BK * 2);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int q = 0; q < 4; q++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
                      "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
                    : "l"(da + 2 * q), "l"(db + 2 * q));
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (t % 128 < 2)
                remote_arrive(mapa(sa(empty + n), t % 128));
        }
        // registers to shared memory as halves, by stmatrix, then a copy to the tensor
        int w = t % 128 / 32, l = t & 31;
        u32 row = c0 + ((group - 1) * 64 + w * 16 + (l & 15)) * BN * 2;
        for (int j = 0; j < 32; j += 8) {
            u32 h[4];
            for (int q = 0; q < 4; q++)
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h[q]) : "f"(c[j + 2 * q + 1]), "f"(c[j + 2 * q]));
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                         ::"r"(row + j * 4 + (l >> 4) * 16), "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]) : "memory");
        }
        fence_async();
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        if (t % 128 == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                         ::"l"(&mc), "r"(n0), "r"(m0 + (group - 1) * 64), "r"(c0 + (group - 1) * 64 * BN * 2) : "memory");
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        }
    }
    cluster_sync();
}
