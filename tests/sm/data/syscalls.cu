#define assert(x) ((x)?(void)0:__assertfail(#x,__FILE__,__LINE__,__func__,sizeof(char)))
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void hello(int n){ printf("hi %d from %d %s %5.2f %c %llx|%%\n", threadIdx.x, n, "str", 1.5f*threadIdx.x, 'c', 0x123456789abcull); }
extern "C" __global__ void mal(int **p, int *out){ int *q = (int*)malloc(16); for(int i=0;i<4;i++) q[i]=threadIdx.x+i; p[threadIdx.x]=q; int s=0; for(int i=0;i<4;i++) s+=q[i]; out[threadIdx.x]=s; free(q);}
extern "C" __global__ void asrt(int n){ assert(threadIdx.x < n); }
