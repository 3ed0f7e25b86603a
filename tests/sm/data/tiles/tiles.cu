// Votes and matches of tiles of a warp.
#include <cooperative_groups.h>
namespace cg=cooperative_groups;
extern "C" __global__ void k(const int*a,unsigned*o){
 auto b=cg::this_thread_block(); int t=b.thread_rank(); int v=a[t];
 auto w=cg::tiled_partition<32>(b); auto q=cg::tiled_partition<8>(w);
 o[t]=w.match_any(v%4);
 o[32+t]=q.any(v>200); o[64+t]=q.ballot(v&2); o[96+t]=w.shfl_down(v,3); o[128+t]=q.shfl_xor(v,5); o[160+t]=q.match_any(v%3);}
