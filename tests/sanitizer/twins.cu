// Defects beside clean twins, a kernel a line: tests/sanitizer/test_twins.py has the verdicts.
extern "C" __global__ void hist(const unsigned char*in,int*out,int n){__shared__ int h[32]; if(threadIdx.x<32)h[threadIdx.x]=0; __syncthreads(); for(int i=threadIdx.x;i<n;i+=blockDim.x)atomicAdd(&h[in[i]&31],1); __syncthreads(); if(threadIdx.x<32)atomicAdd(&out[threadIdx.x],h[threadIdx.x]);}
extern "C" __global__ void hist_bad(const unsigned char*in,int*out,int n){__shared__ int h[32]; if(threadIdx.x<32)h[threadIdx.x]=0; for(int i=threadIdx.x;i<n;i+=blockDim.x)atomicAdd(&h[in[i]&31],1); __syncthreads(); if(threadIdx.x<32)atomicAdd(&out[threadIdx.x],h[threadIdx.x]);}
extern "C" __global__ void fsum(const float*in,float*out){__shared__ float s; if(threadIdx.x==0)s=0; __syncthreads(); atomicAdd(&s,in[threadIdx.x]); __syncthreads(); if(threadIdx.x==0)out[blockIdx.x]=s;}
extern "C" __global__ void fmaxs(const float*in,int*out){__shared__ int s; if(threadIdx.x==0)s=0; __syncthreads(); atomicMax(&s,__float_as_int(in[threadIdx.x])); __syncthreads(); if(threadIdx.x==0)out[blockIdx.x]=s;}
extern "C" __global__ void lock(int*l,int*v){ if(threadIdx.x==0){ while(atomicCAS(l,0,1)!=0); __threadfence(); v[0]+=1; __threadfence(); atomicExch(l,0);} }
extern "C" __global__ void lock_bad(int*l,int*v){ if(threadIdx.x==0){ while(atomicCAS(l,0,1)!=0); v[0]+=1; atomicExch(l,0);} }
extern "C" __global__ void vec(const float4*in,float4*out){__shared__ float4 t[64]; t[threadIdx.x]=in[threadIdx.x]; __syncthreads(); out[threadIdx.x]=t[63-threadIdx.x]; }
extern "C" __global__ void vec_bad(const float4*in,float4*out){__shared__ float4 t[64]; t[threadIdx.x]=in[threadIdx.x]; out[threadIdx.x]=t[63-threadIdx.x]; }
extern "C" __global__ void wred(const int*in,int*out){__shared__ int s[32]; int t=threadIdx.x; s[t]=in[t]; __syncwarp(); for(int d=16;d;d>>=1){int v=t<d?s[t+d]:0; __syncwarp(); if(t<d)s[t]+=v; __syncwarp();} if(t==0)out[0]=s[0]; }
extern "C" __global__ void wred_bad(const int*in,int*out){__shared__ volatile int s[64]; int t=threadIdx.x; s[t]=in[t]; if(t<16){s[t]+=s[t+16]; s[t]+=s[t+8]; s[t]+=s[t+4]; s[t]+=s[t+2]; s[t]+=s[t+1];} if(t==0)out[0]=s[0]; }
extern "C" __global__ void flags(int*d,int*f,int*o){ if(blockIdx.x==0){ if(threadIdx.x==0){d[0]=42; __threadfence(); atomicExch(f,1);} } else if(threadIdx.x==0){ while(atomicAdd(f,0)==0); __threadfence(); o[0]=d[0]; } }
extern "C" __global__ void flags_bad(int*d,int*f,int*o){ if(blockIdx.x==0){ if(threadIdx.x==0){d[0]=42; atomicExch(f,1);} } else if(threadIdx.x==0){ while(atomicAdd(f,0)==0); o[0]=d[0]; } }
extern "C" __global__ void same(int*o){ o[0]=1; }
extern "C" __global__ void pf(const int*in){ if(threadIdx.x==0)printf("%d %s\n",in[0],"x"); }
extern "C" __global__ void loc(const int*in,int*out,int n){ int a[16]; for(int i=0;i<16;i++)a[i]=in[i]; int s=0; for(int i=0;i<n;i++)s+=a[in[i]&15]; out[threadIdx.x]=s; }
extern "C" __global__ void loc_bad(const int*in,int*out,int n){ int a[16]; for(int i=0;i<8;i++)a[in[i]&7]=in[i]; int s=0; for(int i=0;i<n;i++)s+=a[in[i]&15]; out[threadIdx.x]=s; }
extern "C" __global__ void dfree(int*out){ int*p=(int*)malloc(16); p[0]=1; out[0]=p[0]; free(p); if(out[0]==1)free(p); }
extern "C" __global__ void dbuf(const int*in,int*out,int n){__shared__ int b[2][64]; int t=threadIdx.x; b[0][t]=in[t]; __syncthreads(); int c=0; for(int i=1;i<n;i++){ b[c^1][t]=in[i*64+t]; out[t]+=b[c][63-t]; __syncthreads(); c^=1;} out[t]+=b[c][63-t]; }
extern "C" __global__ void smask(int *out) { __shared__ int s[32]; int t = threadIdx.x; unsigned m = __ballot_sync(~0u, t <= 16); if (t <= 16) { s[t] = t; __syncwarp(m); if (!t) { int v = 0; for (int i = 0; i < 16; i++) v += s[i]; out[0] = v; } } __syncthreads(); }
extern "C" __global__ void smask_bad(int *out) { __shared__ int s[32]; int t = threadIdx.x; unsigned m = __ballot_sync(~0u, t < 16); if (t <= 16) { s[t] = t; __syncwarp(m); if (!t) { int v = 0; for (int i = 0; i < 16; i++) v += s[i]; out[0] = v; } } __syncthreads(); }
__device__ unsigned came; extern "C" __global__ void lastb(const int*in,int*p,int*out){ __shared__ bool last; if(!threadIdx.x){ p[blockIdx.x]=in[blockIdx.x]; __threadfence(); last=atomicInc(&came,gridDim.x)==gridDim.x-1; } __syncthreads(); if(last&&!threadIdx.x){ __threadfence(); int v=0; for(int i=0;i<gridDim.x;i++)v+=p[i]; out[0]=v; came=0; } }
extern "C" __global__ void lastb_bad(const int*in,int*p,int*out){ __shared__ bool last; if(!threadIdx.x){ p[blockIdx.x]=in[blockIdx.x]; last=atomicInc(&came,gridDim.x)==gridDim.x-1; } __syncthreads(); if(last&&!threadIdx.x){ __threadfence(); int v=0; for(int i=0;i<gridDim.x;i++)v+=p[i]; out[0]=v; came=0; } }
extern "C" __global__ void split_bad(const int*in,int*out){ __shared__ int s[64]; int t=threadIdx.x; if(in[t]&1){ s[t]=1; __syncthreads(); out[t]=s[t]; } else { s[t]=2; __syncthreads(); out[t]=s[t]+1; } }
extern "C" __global__ void halves(const int*in,int*out){ __shared__ int s[32]; int t=threadIdx.x; if(t<16){ s[t]=in[t]; __syncwarp(0xffff); out[t]=s[15-t]; } else { s[t]=in[t]; __syncwarp(0xffff0000); out[t]=s[47-t]; } }
extern "C" __global__ void halves_bad(const int*in,int*out){ __shared__ int s[32]; int t=threadIdx.x; if(t<16){ s[t]=in[t]; __syncwarp(0xffff); out[t]=s[15-t]; } else { s[t]=in[t]; __syncwarp(0xffff0000); out[t]=s[31-t]; } }
#if __CUDA_ARCH__ >= 700
extern "C" __global__ void lanelock(int*out){ __shared__ int l,c; int t=threadIdx.x; if(!t){l=0;c=0;} __syncthreads(); bool done=false; while(!done){ if(atomicCAS(&l,0,1)==0){ __threadfence_block(); c=c+1; __threadfence_block(); atomicExch(&l,0); done=true; } } __syncthreads(); if(!t)out[0]=c; }
extern "C" __global__ void lanelock_bad(int*out){ __shared__ int l,c; int t=threadIdx.x; if(!t){l=0;c=0;} __syncthreads(); bool done=false; while(!done){ if(atomicCAS(&l,0,1)==0){ c=c+1; atomicExch(&l,0); done=true; } } __syncthreads(); if(!t)out[0]=c; }
#endif
extern "C" __global__ void partsum_bad(const int*in,int*out,int n){ __shared__ int s[64]; int t=threadIdx.x; if(t<n)s[t]=in[t]; __syncthreads(); for(int d=32;d;d>>=1){ if(t<d)s[t]+=s[t+d]; __syncthreads(); } if(!t)out[0]=s[0]; }
extern "C" __global__ void partmax_bad(const int*in,int*out,int n){ __shared__ int s[64]; int t=threadIdx.x; if(t<n)s[t]=in[t]; __syncthreads(); for(int d=32;d;d>>=1){ if(t<d&&s[t+d]>s[t])s[t]=s[t+d]; __syncthreads(); } if(!t)out[0]=s[0]; }
extern "C" __global__ void both(const int*in,int*out,int n){ __shared__ int s[64]; int t=threadIdx.x; if(t<n)s[t]=in[t]; __syncthreads(); int v=s[t]; if(t<n&&v>3) out[t]=1; }
extern "C" __global__ void both_bad(const int*in,int*out,int n){ __shared__ int s[64]; int t=threadIdx.x; if(t<n)s[t]=in[t]; __syncthreads(); int v=s[t]; if(v>3) out[t]=1; }
extern "C" __global__ void after(int*d,int*f,int*o){ if(blockIdx.x==0){ if(threadIdx.x==0){o[0]=d[0]; __threadfence(); atomicExch(f,1);} } else if(threadIdx.x==0){ while(atomicAdd(f,0)==0); __threadfence(); d[0]=42; } }
extern "C" __global__ void after_bad(int*d,int*f,int*o){ if(blockIdx.x==0){ if(threadIdx.x==0){o[0]=d[0]; atomicExch(f,1);} } else if(threadIdx.x==0){ while(atomicAdd(f,0)==0); d[0]=42; } }
extern "C" __global__ void over(const int*in,int*out){ __shared__ volatile int s[32]; int t=threadIdx.x; s[t]=in[t]; __syncwarp(); int v=0; if(t<16)v=s[t+16]; __syncwarp(); if(t>=16)s[t]=v+1; out[t]=v; }
extern "C" __global__ void over_bad(const int*in,int*out){ __shared__ volatile int s[32]; int t=threadIdx.x; s[t]=in[t]; __syncwarp(); int v=0; if(t<16)v=s[t+16]; if(t>=16)s[t]=v+1; out[t]=v; }
