// Graphs by capture and by nodes, and what streams and events do around them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#define CK(c) do { cudaError_t e_=(c); if(e_) { printf("%d: %s -> %s\n",__LINE__,#c,cudaGetErrorName(e_)); exit(9);} } while(0)
static int wrong; static void check(const char*w,bool g){ printf("%-14s %s\n",w,g?"ok":"WRONG"); wrong+=!g; }
__global__ void scale(float*x,float f,int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) x[i]*=f; }
__global__ void add(float*x,const float*y,int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) x[i]+=y[i]; }
__device__ float offset;
__global__ void shift(float*x,int n){ int i=threadIdx.x; if(i<n) x[i]+=offset; }
static void CUDART_CB count(void*p){ ++*(int*)p; }
int main(){ const int n=256; float *a,*b,h[n]; cudaStream_t s,t; cudaEvent_t e,f; 
  CK(cudaMalloc(&a,n*4)); CK(cudaMalloc(&b,n*4)); CK(cudaStreamCreate(&s)); CK(cudaStreamCreate(&t)); CK(cudaEventCreate(&e)); CK(cudaEventCreateWithFlags(&f,cudaEventDisableTiming));
  for(int i=0;i<n;i++) h[i]=i;
  int calls=0; float out[n]; memset(out,0,sizeof out);
  cudaGraph_t g; cudaGraphExec_t x;
  CK(cudaStreamBeginCapture(s,cudaStreamCaptureModeGlobal));
  CK(cudaMemcpyAsync(a,h,n*4,cudaMemcpyHostToDevice,s)); CK(cudaMemsetAsync(b,0,n*4,s));
  CK(cudaEventRecord(e,s)); CK(cudaStreamWaitEvent(t,e,0));
  scale<<<1,n,0,s>>>(a,2.f,n); CK(cudaGetLastError());
  shift<<<1,n,0,t>>>(b,n); CK(cudaGetLastError());
  CK(cudaEventRecord(f,t)); CK(cudaStreamWaitEvent(s,f,0));
  add<<<1,n,0,s>>>(a,b,n); CK(cudaMemcpyAsync(out,a,n*4,cudaMemcpyDeviceToHost,s)); CK(cudaLaunchHostFunc(s,count,&calls));
  cudaStreamCaptureStatus st; CK(cudaStreamIsCapturing(t,&st)); check("joined",st==cudaStreamCaptureStatusActive);
  CK(cudaStreamEndCapture(s,&g)); CK(cudaStreamIsCapturing(t,&st)); check("ended",st==cudaStreamCaptureStatusNone);
  check("nothing ran",out[3]==0 && calls==0);
  size_t nodes=0; CK(cudaGraphGetNodes(g,0,&nodes)); check("nodes",nodes==7);
  CK(cudaGraphInstantiate(&x,g,0));
  float o=10; CK(cudaMemcpyToSymbol(offset,&o,4));
  for(int r=1;r<=3;r++){ h[5]=100*r; CK(cudaGraphLaunch(x,s)); CK(cudaStreamSynchronize(s)); if(out[5]!=200*r+10||out[7]!=24) wrong++; }
  check("replayed",out[5]==610&&out[7]==24&&calls==3);
  // nodes by hand, updated
  cudaGraph_t m; cudaGraphNode_t k1,k2,ms,cp; CK(cudaGraphCreate(&m,0));
  cudaMemsetParams mp={}; mp.dst=b; mp.value=0; mp.pitch=0; mp.elementSize=4; mp.width=n; mp.height=1; CK(cudaGraphAddMemsetNode(&ms,m,0,0,&mp));
  float fac=3; int nn=n; void* ka[]={&b,&a,&nn}; cudaKernelNodeParams kp={}; kp.func=(void*)add; kp.gridDim=dim3(1); kp.blockDim=dim3(n); kp.kernelParams=ka; CK(cudaGraphAddKernelNode(&k1,m,&ms,1,&kp));
  void* kb[]={&b,&fac,&nn}; kp.func=(void*)scale; kp.kernelParams=kb; CK(cudaGraphAddKernelNode(&k2,m,&k1,1,&kp));
  CK(cudaGraphAddMemcpyNode1D(&cp,m,&k2,1,out,b,n*4,cudaMemcpyDeviceToHost));
  cudaGraphExec_t y; CK(cudaGraphInstantiate(&y,m,0)); CK(cudaGraphLaunch(y,0)); CK(cudaDeviceSynchronize()); check("by nodes",out[7]==72&&out[5]==1830);
  fac=5; CK(cudaGraphExecKernelNodeSetParams(y,k2,&kp)); CK(cudaGraphLaunch(y,t)); CK(cudaStreamSynchronize(t)); check("set params",out[7]==120);
  fac=7; CK(cudaGraphKernelNodeSetParams(k2,&kp)); cudaGraphExecUpdateResultInfo info; CK(cudaGraphExecUpdate(y,m,&info)); CK(cudaGraphLaunch(y,t)); CK(cudaStreamSynchronize(t)); check("updated",out[7]==168);
  cudaGraphNodeType ty; CK(cudaGraphNodeGetType(ms,&ty)); check("type",ty==cudaGraphNodeTypeMemset);
  cudaGraph_t c; CK(cudaGraphCreate(&c,0)); cudaGraphNode_t ch; CK(cudaGraphAddChildGraphNode(&ch,c,0,0,m)); cudaGraphNode_t em; CK(cudaGraphAddEmptyNode(&em,c,&ch,1));
  cudaGraphExec_t z; CK(cudaGraphInstantiate(&z,c,0)); memset(out,0,sizeof out); CK(cudaGraphLaunch(z,s)); CK(cudaStreamSynchronize(s)); check("child",out[7]==168);
  check("other shape",cudaGraphExecUpdate(y,c,&info)==cudaErrorGraphExecUpdateFailure); cudaGetLastError();
  CK(cudaStreamBeginCapture(s,cudaStreamCaptureModeRelaxed)); check("busy",cudaStreamSynchronize(s)==cudaErrorStreamCaptureUnsupported); cudaGraph_t bad=0; check("invalidated",cudaStreamEndCapture(s,&bad)==cudaErrorStreamCaptureInvalidated&&!bad); cudaGetLastError();
  CK(cudaGraphExecDestroy(x)); CK(cudaGraphExecDestroy(y)); CK(cudaGraphExecDestroy(z)); CK(cudaGraphDestroy(g)); CK(cudaGraphDestroy(m)); CK(cudaGraphDestroy(c));
  float ms1; CK(cudaEventRecord(e,s)); CK(cudaEventRecord(e,s)); CK(cudaEventSynchronize(e)); check("time",cudaEventElapsedTime(&ms1,e,f)!=0); cudaGetLastError();
  cudaGraph_t o_; cudaGraphExec_t own; unsigned char seen=0;
  CK(cudaGraphCreate(&o_,0)); cudaMemAllocNodeParams ap={}; ap.poolProps.allocType=cudaMemAllocationTypePinned; ap.poolProps.location.type=cudaMemLocationTypeDevice; ap.bytesize=512;
  cudaGraphNode_t an,fn; CK(cudaGraphAddMemAllocNode(&an,o_,0,0,&ap)); cudaMemsetParams own_fill={}; own_fill.dst=ap.dptr; own_fill.value=9; own_fill.elementSize=1; own_fill.width=512; own_fill.height=1;
  CK(cudaGraphAddMemsetNode(&fn,o_,&an,1,&own_fill)); CK(cudaGraphInstantiate(&own,o_,0));
  for(int k=0;k<2;k++) { CK(cudaGraphLaunch(own,s)); CK(cudaStreamSynchronize(s)); CK(cudaMemcpy(&seen,(char*)ap.dptr+511,1,cudaMemcpyDeviceToHost)); check("own memory",seen==9); CK(cudaFree(ap.dptr)); seen=0; }
  printf("%d wrong\n",wrong); return wrong!=0; }
