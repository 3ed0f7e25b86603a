// arch: sm_120
typedef unsigned u32;
// what the special registers of clusters read
extern "C" __global__ void names(u32 *o) {
  u32 r[16];
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r[0]));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r[1]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(r[2]));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(r[3]));
  asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(r[4]));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(r[5]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(r[6]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(r[7]));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(r[8]));
  asm("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(r[9]));
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(r[10]));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(r[11]));
  asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(r[12]));
  asm("mov.u32 %0, %%clusterid.z;" : "=r"(r[13]));
  asm("mov.u32 %0, %%nclusterid.z;" : "=r"(r[14]));
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;");
  for (int i=0;i<15;i++) o[(blockIdx.x*gridDim.y+blockIdx.y)*16+i]=r[i];
}
