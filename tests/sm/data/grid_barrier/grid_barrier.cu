#include <cooperative_groups.h>
namespace cg=cooperative_groups;
// A scan whose steps are kept apart by barriers of the grid.
extern "C" __global__ void k(int*a,int*o){
 auto g=cg::this_grid(); int i=g.thread_rank(); int n=g.size();
 for(int s=1;s<n;s*=2){ int v=i>=s?a[i-s]:0; g.sync(); a[i]+=v; g.sync(); }
 o[i]=a[n-1-i];
}
