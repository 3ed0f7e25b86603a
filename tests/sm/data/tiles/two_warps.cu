// Sums over tiles of two warps, which meet in shared memory that is not the program's.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *sums, int *kept) {
    __shared__ cg::block_tile_memory<256> memory;
    __shared__ int own[256];
    own[threadIdx.x] = 3 * threadIdx.x;
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    sums[threadIdx.x] = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>());
    kept[threadIdx.x] = own[threadIdx.x ^ 1];
}
