// Arrays, textures and surfaces, managed variables, virtual memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda.h>
#include <cuda_runtime.h>
#define CK(c) do { auto e_=(c); if(e_) { printf("%d: %s -> %d\n",__LINE__,#c,(int)e_); exit(9);} } while(0)
static int wrong; static void check(const char*w,bool g){ printf("%-14s %s\n",w,g?"ok":"WRONG"); wrong+=!g; }

// clang has no texture functions of its own for CUDA 12.
__device__ float fetch(cudaTextureObject_t t,float x,float y){ float r,g,b,a; asm("tex.2d.v4.f32.f32 {%0,%1,%2,%3},[%4,{%5,%6}];":"=f"(r),"=f"(g),"=f"(b),"=f"(a):"l"(t),"f"(x),"f"(y)); return r; }
__device__ float fetch3(cudaTextureObject_t t,float x,float y,float z){ float r,g,b,a; asm("tex.3d.v4.f32.f32 {%0,%1,%2,%3},[%4,{%5,%6,%7,%7}];":"=f"(r),"=f"(g),"=f"(b),"=f"(a):"l"(t),"f"(x),"f"(y),"f"(z)); return r; }
__device__ float load(cudaSurfaceObject_t s,int x,int y){ float v; asm volatile("suld.b.2d.b32.trap {%0},[%1,{%2,%3}];":"=f"(v):"l"(s),"r"(x),"r"(y)); return v; }
__device__ void store(float v,cudaSurfaceObject_t s,int x,int y){ asm volatile("sust.b.2d.b32.trap [%0,{%1,%2}],{%3};"::"l"(s),"r"(x),"r"(y),"f"(v)); }
static const char managed[]=".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .attribute(.managed) .align 4 .u32 counter = 40;\n.visible .entry use(.param .u32 n) { .reg .u32 %r<3>; ld.param.u32 %r1,[n]; ld.global.u32 %r2,[counter]; add.u32 %r2,%r2,%r1; st.global.u32 [counter],%r2; ret; }\n";
__global__ void blur(float*o,cudaTextureObject_t t,int w,int h){ int x=threadIdx.x,y=blockIdx.x; if(x<w&&y<h) o[y*w+x]=fetch(t,x+.5f,y+.5f)+fetch(t,x-.5f,y+.5f); }
__global__ void turn(cudaSurfaceObject_t s,cudaSurfaceObject_t d,int w,int h){ int x=threadIdx.x,y=blockIdx.x; store(load(s,x*4,y)+1,d,y*4,x); }
__global__ void mark(int*p,int n){ for(int i=threadIdx.x;i<n;i+=blockDim.x) p[i]=i; }
__global__ void volume(float*o,cudaTextureObject_t t){ o[threadIdx.x]=fetch3(t,threadIdx.x%4+.5f,threadIdx.x/4%4+.5f,threadIdx.x/16+.5f); }
int main(){ const int w=20,h=12; float in[h][w],out[h*w],*o; for(int y=0;y<h;y++)for(int x=0;x<w;x++) in[y][x]=y*100+x;
 CK(cudaMalloc(&o,sizeof in)); cudaChannelFormatDesc d=cudaCreateChannelDesc<float>(); cudaArray_t a,b; CK(cudaMallocArray(&a,&d,w,h,cudaArraySurfaceLoadStore)); CK(cudaMallocArray(&b,&d,h,w,cudaArraySurfaceLoadStore));
 CK(cudaMemcpy2DToArray(a,0,0,in,w*4,w*4,h,cudaMemcpyHostToDevice)); cudaResourceDesc r={}; r.resType=cudaResourceTypeArray; r.res.array.array=a; cudaTextureDesc td={}; td.addressMode[0]=td.addressMode[1]=cudaAddressModeBorder; td.filterMode=cudaFilterModePoint; td.readMode=cudaReadModeElementType;
 cudaTextureObject_t t; CK(cudaCreateTextureObject(&t,&r,&td,0)); blur<<<h,32>>>(o,t,w,h); CK(cudaMemcpy(out,o,sizeof in,cudaMemcpyDeviceToHost)); bool g=true; for(int y=0;y<h;y++)for(int x=0;x<w;x++) g&=out[y*w+x]==in[y][x]+(x?in[y][x-1]:0); check("texture",g);
 cudaSurfaceObject_t s1,s2; CK(cudaCreateSurfaceObject(&s1,&r)); r.res.array.array=b; CK(cudaCreateSurfaceObject(&s2,&r)); turn<<<h,w>>>(s1,s2,w,h); float back[w][h]; CK(cudaMemcpy2DFromArray(back,h*4,b,0,0,h*4,w,cudaMemcpyDeviceToHost)); g=true; for(int y=0;y<h;y++)for(int x=0;x<w;x++) g&=back[x][y]==in[y][x]+1; check("surface",g);
 cudaExtent ex; cudaChannelFormatDesc got; unsigned fl; CK(cudaArrayGetInfo(&got,&ex,&fl,a)); check("info",ex.width==w&&ex.height==h&&ex.depth==0&&got.x==32&&got.f==cudaChannelFormatKindFloat&&fl==cudaArraySurfaceLoadStore);
 cudaArray_t v; CK(cudaMalloc3DArray(&v,&d,make_cudaExtent(4,4,4))); float vol[64]; for(int i=0;i<64;i++) vol[i]=i*3; cudaMemcpy3DParms p={}; p.srcPtr=make_cudaPitchedPtr(vol,16,4,4); p.dstArray=v; p.extent=make_cudaExtent(4,4,4); p.kind=cudaMemcpyHostToDevice; CK(cudaMemcpy3D(&p)); r.res.array.array=v; cudaTextureObject_t t3; CK(cudaCreateTextureObject(&t3,&r,&td,0)); volume<<<1,64>>>(o,t3); CK(cudaMemcpy(out,o,256,cudaMemcpyDeviceToHost)); check("volume",!memcmp(out,vol,256));
 CK(cudaDestroyTextureObject(t)); CK(cudaDestroySurfaceObject(s1)); CK(cudaFreeArray(a)); check("freed twice",cudaFreeArray(a)!=0); cudaGetLastError();
 CUmodule mod; CUfunction use; CUdeviceptr where; size_t bytes; unsigned is=0; CK(cuModuleLoadData(&mod,managed)); CK(cuModuleGetFunction(&use,mod,"use")); CK(cuModuleGetGlobal(&where,&bytes,mod,"counter")); volatile int*counter=(int*)where; check("initial",*counter==40&&bytes==4); *counter=41; int one=1; void*pa[]={&one}; CK(cuLaunchKernel(use,1,1,1,1,1,1,0,0,pa,0)); CK(cudaDeviceSynchronize()); CK(cuPointerGetAttribute(&is,CU_POINTER_ATTRIBUTE_IS_MANAGED,where)); check("managed",*counter==42&&(is&255)==1);
 const char*un; CK(cuFuncGetName(&un,use)); check("its name",!strcmp(un,"use"));
 // virtual memory
 size_t gran; CUmemAllocationProp ap={}; ap.type=CU_MEM_ALLOCATION_TYPE_PINNED; ap.location.type=CU_MEM_LOCATION_TYPE_DEVICE; CK(cuMemGetAllocationGranularity(&gran,&ap,CU_MEM_ALLOC_GRANULARITY_MINIMUM)); CUdeviceptr base; CK(cuMemAddressReserve(&base,2*gran,0,0,0)); CUmemGenericAllocationHandle h1,h2; CK(cuMemCreate(&h1,gran,&ap,0)); CK(cuMemCreate(&h2,gran,&ap,0)); CK(cuMemMap(base,gran,0,h1,0)); CK(cuMemMap(base+gran,gran,0,h2,0)); CUmemAccessDesc ad={}; ad.location=ap.location; ad.flags=CU_MEM_ACCESS_FLAGS_PROT_READWRITE; CK(cuMemSetAccess(base,2*gran,&ad,1));
 int n=64; int *mid=(int*)(base+gran)-32; mark<<<1,32>>>(mid,n); int r2[64]; CK(cudaMemcpy(r2,mid,256,cudaMemcpyDeviceToHost)); g=true; for(int i=0;i<n;i++) g&=r2[i]==i; check("mapped",g); CK(cuMemUnmap(base,2*gran)); CK(cuMemRelease(h1)); CK(cuMemRelease(h2)); CK(cuMemAddressFree(base,2*gran));
 cudaFuncAttributes fa; CK(cudaFuncGetAttributes(&fa,mark)); const char*nm; CK(cudaFuncGetName(&nm,(void*)mark)); check("name",strstr(nm,"mark")!=0);
 printf("%d wrong\n",wrong); return wrong!=0; }
