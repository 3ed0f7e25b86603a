// Patterns of what people write: part `library` of packs.  Every kernel takes words, floats and the
// output; blocks have any shape, so that threads are counted through the block and the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;
using namespace nvcuda;
typedef unsigned int u32;
typedef unsigned long long u64;
#define ARGS const u32 *words, const float *floats, u32 *out
#define KERNEL(name) extern "C" __global__ void name(ARGS)

__device__ u32 blocks() { return gridDim.x * gridDim.y * gridDim.z; }
__device__ u32 block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
__device__ u32 block_size() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ u32 rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ u32 place() { return block_rank() * block_size() + rank(); }
__device__ u32 word(const u32 *words, u32 n) { return words[n & 16383]; }

KERNEL(places) {
    u32 i = place();
    out[i] = threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
    out[32768 + i] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16 | (threadIdx.x & 31) << 24;
}

KERNEL(sums) {
    __shared__ u32 part[32];
    u32 lane = rank() & 31, warp = rank() >> 5, count = (block_size() + 31) / 32;
    u32 live = __activemask(), v = word(words, place());
    for (int d = 16; d; d >>= 1) {
        u32 other = __shfl_down_sync(live, v, d);
        if (lane + d < __popc(live)) v += other;
    }
    if (!lane) part[warp] = v;
    __syncthreads();
    if (!rank()) {
        u32 all = 0;
        for (u32 n = 0; n < count; n++) all += part[n];
        out[block_rank()] = all;
        atomicAdd(&out[1000], all);
        atomicXor(&out[1001], all);
    }
}

KERNEL(votes) {
    u32 v = word(words, place()), live = __activemask(), i = place();
    u32 r = __ballot_sync(live, v & 1);
    if (v & 2) r = r * 31 + __ballot_sync(__activemask(), v & 4);
    else r ^= __popc(__activemask());
    __syncwarp(live);
    r += __any_sync(live, (v & 0xff) == 0) * 1000 + __all_sync(live, v > 5) * 100;
    r += __syncthreads_count(v & 8) + 7 * __syncthreads_or(v == 1) + 9 * __syncthreads_and(v != 3);
    out[i] = r;
}

KERNEL(matches) {
    u32 v = word(words, place()) & 7, live = __activemask();
    u32 same = __match_any_sync(live, v);
    int all;
    u32 m = __match_all_sync(live, v >> 3, &all);
    u32 leader = __ffs(same) - 1;
    u32 count = __popc(same);
    u32 s = __reduce_add_sync(live, v) + __reduce_min_sync(live, v * 77) + __reduce_xor_sync(live, count);
    out[place()] = same ^ m + all + leader * 5 + s;
}

KERNEL(shuffles) {
    u32 v = word(words, place()), live = __activemask(), r = v;
    if (live == 0xffffffff) {
        r += __shfl_xor_sync(live, v, 7) ^ __shfl_up_sync(live, v, 3, 8) ^ __shfl_sync(live, v, v, 16);
        u64 w = __shfl_down_sync(live, (u64)v << 20 | v, 5);
        r ^= (u32)(w >> 13);
        double d = __shfl_xor_sync(live, (double)v, 16);
        r += (u32)(long long)d;
    }
    out[place()] = r;
}

KERNEL(scan) {
    __shared__ u32 a[2][1024];
    u32 t = rank(), n = block_size(), at = 0;
    a[0][t] = word(words, place()) & 0xffff;
    __syncthreads();
    for (u32 d = 1; d < n; d *= 2, at ^= 1) {
        a[at ^ 1][t] = a[at][t] + (t >= d ? a[at][t - d] : 0);
        __syncthreads();
    }
    out[place()] = a[at][t];
}

KERNEL(histogram) {
    __shared__ u32 h[64];
    for (u32 n = rank(); n < 64; n += block_size()) h[n] = 0;
    __syncthreads();
    for (u32 n = rank(); n < 700; n += block_size()) {
        u32 v = word(words, n * 13 + block_rank());
        atomicAdd(&h[v & 63], 1 + (v >> 28));
        atomicMax(&out[64 + (v & 15)], v);
        atomicOr(&out[96 + (v >> 27)], 1u << (v & 31));
    }
    __syncthreads();
    for (u32 n = rank(); n < 64; n += block_size()) atomicAdd(&out[n], h[n]);
}

__device__ u32 taken;
KERNEL(tickets) {
    __shared__ u32 first;
    if (!rank()) first = atomicAdd(&out[0], block_size());
    __syncthreads();
    u32 mine = first + rank();
    atomicAdd(&out[1], mine);
    atomicInc(&out[2], 1000);
    atomicDec(&out[3], 77);
    out[16 + mine] = 1;
    u32 old = out[4], now;
    do {
        now = old;
        old = atomicCAS(&out[4], now, now + 3);
    } while (old != now);
}

KERNEL(minmax) {
    float v = floats[place() & 16383];
    int b = __float_as_int(v);
    atomicMax((int *)&out[0], b >= 0 ? b : 0);
    atomicMin(&out[1 + (b & 3)], __float_as_uint(v));
    atomicMin((int *)&out[8], b);
    atomicMax((u64 *)&out[16], (u64)__float_as_uint(v) * 0x100000001ull);
    atomicMin((long long *)&out[18], (long long)b << 20);
    atomicAnd(&out[20], ~(1u << (b & 31)));
    atomicAdd((u64 *)&out[22], (u64)b * b);
}

KERNEL(halves) {
    u32 i = place();
    float x = floats[i & 16383], y = floats[(i * 7 + 1) & 16383];
    __half2 a = __floats2half2_rn(x, y), b = __floats2half2_rn(y * 3, x - y), s = __float2half2_rn(0);
    for (int n = 0; n < 9; n++) {
        s = __hfma2(a, b, s);
        a = __hadd2(__lows2half2(a, b), __hmul2(a, __float2half2_rn(0.75f)));
        if (__hbgt2(s, b)) s = __hsub2(s, b);
    }
    __half2 r = h2sqrt(__habs2(s));
    u32 w;
    memcpy(&w, &s, 4);
    out[2 * i] = w;
    out[2 * i + 1] = __float_as_uint(__low2float(r) + __high2float(a)) ^ __half2int_rn(__low2half(b));
}

KERNEL(bf16) {
    u32 i = place();
    float x = floats[i & 16383], y = floats[(i * 5 + 2) & 16383];
    __nv_bfloat162 a = __floats2bfloat162_rn(x, y), b = __floats2bfloat162_rn(y, -x), s = a;
    for (int n = 0; n < 9; n++) {
        s = __hfma2(a, s, b);
        s = __hmax2(__hmin2(s, __float2bfloat162_rn(20)), __float2bfloat162_rn(-20));
        a = __hadd2(a, __hneg2(b));
    }
    u32 w;
    memcpy(&w, &s, 4);
    out[2 * i] = w;
    out[2 * i + 1] = __float_as_uint(__bfloat162float(__low2bfloat16(a)) * y);
}

KERNEL(tiles) {
    auto block = cg::this_thread_block();
    u32 v = word(words, place()) & 0xfff;
    u32 r = 0;
    if (block.size() % 32 == 0) {
        auto t8 = cg::tiled_partition<8>(block);
        auto t32 = cg::tiled_partition<32>(block);
        r = cg::reduce(t8, v, cg::plus<u32>()) * 3 + cg::reduce(t32, v, cg::greater<u32>());
        r += cg::inclusive_scan(t32, v) ^ cg::exclusive_scan(t8, v);
        r += t8.shfl_xor(v, 3) + t32.meta_group_rank() + t8.any(v == 5);
    }
    if (v & 1) {
        auto some = cg::coalesced_threads();
        r += some.size() * 1000 + some.thread_rank() + some.shfl(v, 0);
        auto halves = cg::labeled_partition(some, v & 2);
        r ^= halves.size() << 16;
    }
    block.sync();
    out[place()] = r + block.thread_rank();
}

KERNEL(balance) {
    u32 v = word(words, place()), n = 0;
    while (v != 1 && n < 120) {
        v = v & 1 ? 3 * v + 1 : v >> 1;
        n++;
        if ((v & 0xff) == 0x5a) continue;
        if (n > 90 && (v & 3) == 2) break;
    }
    switch (n % 5) {
    case 0: v ^= 0x55; break;
    case 1: v += n; // falls through
    case 2: v *= 3; break;
    case 3: if (v & 8) return;
    default: v = __brev(v);
    }
    out[place()] = v + n;
}

KERNEL(strings) {
    u32 i = place();
    char text[24];
    u32 v = word(words, i), n = 0;
    do { text[n++] = '0' + v % 10; v /= 10; } while (v);
    u32 h = 5381;
    for (u32 k = n; k--;) h = h * 33 ^ text[k];
    signed char s = (signed char)h;
    short q = (short)(h * 7);
    out[i] = h + s / 3 + q % 11 + (int)h / -7 + (u32)((long long)h * -12345 % 1000003);
}

KERNEL(mixed) {
    u32 i = place(), v = word(words, i), w = word(words, i + 99);
    u32 r = __byte_perm(v, w, v & 0x7777) + __funnelshift_l(v, w, w) + __umulhi(v, w);
    r ^= __vadd4(v, w) + __vabsdiffu4(v, w) + __vcmpgts2(v, w) + __vmaxs4(v, w) + __dp4a((int)v, (int)w, 7);
    r += __clz(v) + __ffs(w) + __popcll((u64)v << 32 | w) + __mul24(v, w) + __usad(v, w, 3) + __hadd(v, w);
    r ^= __viaddmax_s32(v, w, 5) + __vimin3_u32(v, w, r) + __vibmax_u32(v, w, (bool *)0 == 0 ? (bool *)&r : 0);
    long long p = (long long)(int)v * (int)w + ((u64)r << 7);
    out[i] = r ^ (u32)(p >> 9) ^ (u32)(p / ((int)w | 1)) ^ __ffsll(p) ^ (u32)__brevll(p);
}

KERNEL(wide_atomics) {
    u32 i = place();
    u64 *o = (u64 *)out;
    u64 v = (u64)word(words, i) << 17 ^ word(words, i + 1);
    atomicAdd(&o[0], v);
    atomicXor(&o[1], v);
    atomicMax(&o[2], v);
    atomicExch(&out[64 + i], (u32)v);
    atomicCAS(&o[4], 0ull, 5ull);
    __half2 one = __floats2half2_rn(1, 2);
    atomicAdd((__half2 *)&out[20 + (i & 3)], one);
    atomicAdd((__nv_bfloat162 *)&out[30 + (i & 31)], __floats2bfloat162_rn(1, 1));
    atomicAdd((float *)&out[10], (float)(v & 15));
    atomicAdd((double *)&out[12], (double)(v & 1023));
}

KERNEL(pingpong) {
    __shared__ volatile u32 a[1024];
    u32 t = rank(), n = block_size();
    a[t] = word(words, place());
    for (int k = 0; k < 5; k++) {
        __syncthreads();
        u32 l = a[(t + 1) % n], r = a[(t + n - 1) % n];
        __syncthreads();
        a[t] = l * 3 + (r >> 1) + k;
    }
    out[place()] = a[t];
}

__device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
KERNEL(recursion) { out[place()] = ackermann(word(words, place()) & 1, (word(words, place()) >> 4) & 7); }

__device__ __noinline__ u32 f_add(u32 a, u32 b) { return a + b * 2; }
__device__ __noinline__ u32 f_mul(u32 a, u32 b) { return a * (b | 1); }
__device__ __noinline__ u32 f_mix(u32 a, u32 b) { return a ^ __funnelshift_r(a, b, 9); }
__device__ u32 (*const table[])(u32, u32) = {f_add, f_mul, f_mix};
struct Shape { __device__ virtual u32 area(u32 v) { return v; } };
struct Box : Shape { __device__ u32 area(u32 v) override { return v * v; } };
KERNEL(calls) {
    u32 v = word(words, place());
    u32 r = table[v % 3](v, place());
    Shape a; Box b;
    Shape *which = v & 64 ? &a : &b;
    out[place()] = r + which->area(v & 0xff);
}

KERNEL(sortnet) {
    __shared__ u32 a[1024];
    u32 t = rank(), n = block_size();
    for (u32 k = t; k < 1024; k += n) a[k] = word(words, k + 64 * block_rank());
    __syncthreads();
    for (u32 size = 2; size <= 256; size *= 2)
        for (u32 d = size / 2; d; d /= 2) {
            for (u32 k = t; k < 512; k += n) {
                u32 i = 2 * k - (k & (d - 1)), j = i + d;
                bool up = !(i & size);
                if ((a[i] > a[j]) == up) { u32 s = a[i]; a[i] = a[j]; a[j] = s; }
            }
            __syncthreads();
        }
    for (u32 k = t; k < 1024; k += n) out[(block_rank() * 1024 + k) & 32767] = a[k];
}

// ---- blocks of 128 threads ---------------------------------------------------------------------

template <typename T, typename A, int M, int N, int K> __device__ void product(const u32 *words, const float *floats, u32 *out) {
    __shared__ __align__(32) T a[M * K], b[K * N];
    for (int n = threadIdx.x; n < M * K; n += 128) a[n] = (T)(floats[n] * 4);
    for (int n = threadIdx.x; n < K * N; n += 128) b[n] = (T)(floats[n + 999] * 4);
    __syncthreads();
    A *c = (A *)out + (block_rank() * 4 + threadIdx.x / 32) * M * N;
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, A> fc;
    wmma::fill_fragment(fc, (A)(threadIdx.x / 32));
    wmma::load_matrix_sync(fa, a, K);
    wmma::load_matrix_sync(fb, b, K);
    for (int n = 0; n < 3; n++) wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}
KERNEL(wmma_half) {
    product<__half, float, 16, 16, 16>(words, floats, out);
    product<__half, __half, 32, 8, 16>(words, floats, out + 8192);
}
KERNEL(wmma_bf16) { product<__nv_bfloat16, float, 8, 32, 16>(words, floats, out); }
KERNEL(wmma_int8) { product<signed char, int, 16, 16, 16>(words, floats, out); }
KERNEL(wmma_tf32) {
    __shared__ __align__(32) float a[16 * 8], b[8 * 16];
    a[threadIdx.x] = floats[threadIdx.x];
    b[threadIdx.x] = floats[threadIdx.x + 500];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::fill_fragment(fc, 0.5f);
    wmma::load_matrix_sync(fa, a, 8);
    wmma::load_matrix_sync(fb, b, 16);
    for (int n = 0; n < fa.num_elements; n++) fa.x[n] = wmma::__float_to_tf32(fa.x[n]);
    for (int n = 0; n < fb.num_elements; n++) fb.x[n] = wmma::__float_to_tf32(fb.x[n]);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync((float *)out + (block_rank() * 4 + threadIdx.x / 32) * 256, fc, 16, wmma::mem_row_major);
}

KERNEL(copies) {
    __shared__ __align__(16) u32 a[512];
    u32 t = threadIdx.x;
    __pipeline_memcpy_async(&a[4 * t], &words[4 * t + 512 * (block_rank() & 7)], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    u32 r = 0;
    for (int n = 0; n < 4; n++) r = r * 31 + a[(t * 5 + n * 128) & 511];
    out[place()] = r;
}

KERNEL(pipeline) {
    __shared__ __align__(16) u32 a[4][128];
    u32 t = threadIdx.x, r = 0;
    for (int n = 0; n < 3; n++) {
        __pipeline_memcpy_async(&a[n][t], &words[n * 128 + t], 4);
        __pipeline_commit();
    }
    for (int n = 0; n < 20; n++) {
        __pipeline_wait_prior(2);
        __syncthreads();
        r = r * 7 + a[n & 3][(t * 3 + n) & 127];
        if (n + 3 < 20) __pipeline_memcpy_async(&a[(n + 3) & 3][t], &words[(n + 3) * 128 + t], 4, t & 1 ? 4 : 0);
        __pipeline_commit();
    }
    out[place()] = r;
}

KERNEL(reduce_groups) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int v = (int)words[place()];
    long long w = (long long)v * 3;
    out[place()] = cg::reduce(warp, v, cg::bit_xor<int>()) + cg::reduce(warp, v, cg::less<int>()) +
                   (u32)cg::reduce(warp, w, cg::plus<long long>()) + cg::inclusive_scan(warp, v, cg::bit_or<int>());
}

KERNEL(barrier_parts) {
    __shared__ u32 a[128];
    u32 t = threadIdx.x, w = t / 32;
    a[t] = words[t + block_rank()];
    if (w < 2) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    u32 r = a[t ^ 32];
    if (w == 0) asm volatile("bar.arrive 3, 128;" ::: "memory");
    else if (w == 1) asm volatile("bar.arrive 3, 128;" ::: "memory");
    else asm volatile("bar.sync 3, 128;" ::: "memory");
    if (w >= 2) r += a[t - 64];
    u32 red;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(red) : "r"(r & 1));
    out[place()] = r + red;
}

// ---- clusters ----------------------------------------------------------------------------------

KERNEL(cluster_ring) {
    __shared__ u32 a[96];
    auto cluster = cg::this_cluster();
    u32 t = threadIdx.x, r = cluster.block_rank(), n = cluster.num_blocks();
    a[t] = word(words, place());
    cluster.sync();
    u32 *next = cluster.map_shared_rank(a, (r + 1) % n);
    u32 v = next[(t * 7) % 96];
    cluster.sync();
    next[t] = v + r;
    cluster.sync();
    out[place()] = a[t] + v + cluster.thread_rank() * 3;
}
KERNEL(cluster_sum) {
    __shared__ u32 total, low;
    auto cluster = cg::this_cluster();
    if (!threadIdx.x) total = 0, low = ~0u;
    cluster.sync();
    u32 v = word(words, place());
    for (u32 k = 0; k < cluster.num_blocks(); k++) {
        atomicAdd(cluster.map_shared_rank(&total, k), v >> k);
        atomicMin(cluster.map_shared_rank(&low, k), v ^ k);
    }
    cluster.sync();
    out[place()] = total + low;
}
KERNEL(cluster_map) {
    auto cluster = cg::this_cluster();
    dim3 b = cluster.block_index(), d = cluster.dim_blocks();
    out[place()] = b.x | d.x << 8 | cluster.block_rank() << 16 | cluster.num_threads() << 20;
}
