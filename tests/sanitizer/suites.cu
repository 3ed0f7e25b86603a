// Patterns of public suites (Indigo, ScoR, DataRaceBench, GPUVerify), written anew: defects beside clean twins.
typedef unsigned u32;
#define K extern "C" __global__ void
#define ID int t = threadIdx.x, g = blockIdx.x * blockDim.x + t
// graph kernels: index[v] to index[v + 1] are the neighbours of v in list (64 vertices, 4 neighbours each)
K push(const int *index, const int *list, int *data, int n) { ID; if (g < n) for (int i = index[g]; i < index[g + 1]; i++) atomicAdd(data + list[i], 1); }
K push_no_atomic(const int *index, const int *list, int *data, int n) { ID; if (g < n) for (int i = index[g]; i < index[g + 1]; i++) data[list[i]] += 1; }
K push_no_guard(const int *index, const int *list, int *data, int n) { ID; for (int i = index[g]; i < index[g + 1]; i++) atomicAdd(data + list[i], 1); }
K pull(const int *index, const int *list, const int *in, int *out, int n) { ID; if (g < n) { int m = 0; for (int i = index[g]; i < index[g + 1]; i++) m = max(m, in[list[i]]); out[g] = m; } }
K pull_in_place(const int *index, const int *list, const int *in, int *out, int n) { ID; if (g < n) { int m = 0; for (int i = index[g]; i < index[g + 1]; i++) m = max(m, ((volatile int *)out)[list[i]]); out[g] = m; } }
K pull_bounds(const int *index, const int *list, const int *in, int *out, int n) { ID; if (g <= n) { int m = 0; for (int i = index[g]; i < index[g + 1]; i++) m = max(m, in[list[i]]); out[g] = m; } }
K worklist(const int *index, const int *list, int *queue, int *count, int n) { ID; if (g < n && (index[g] & 4)) queue[atomicAdd(count, 1)] = g; }
K worklist_no_atomic(const int *index, const int *list, int *queue, int *count, int n) { ID; if (g < n && (index[g] & 4)) queue[(*count)++ & 63] = g; }
K flag_any(const int *index, const int *list, int *data, int n) { ID; if (g < n && index[g] > 8) atomicExch(data, 1); }
K flag_any_plain(const int *index, const int *list, int *data, int n) { ID; if (g < n && index[g] > 8) *data = 1; }
K best(const int *index, const int *list, int *data, int n) { ID; if (g < n) atomicMax(data, list[g]); }
K best_checked(const int *index, const int *list, int *data, int n) { ID; if (g < n && list[g] > *(volatile int *)data) atomicMax(data, list[g]); }
K best_plain(const int *index, const int *list, int *data, int n) { ID; if (g < n && list[g] > *data) *data = list[g]; }
K block_sum(const int *in, int *out) { __shared__ int s[128]; ID; s[t] = in[g]; __syncthreads(); for (int k = 64; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); } if (!t) atomicAdd(out, s[0]); }
K block_sum_sync(const int *in, int *out) { __shared__ int s[128]; ID; s[t] = in[g]; __syncthreads(); for (int k = 64; k; k >>= 1) { if (t < k) s[t] += s[t + k]; if (k > 64) __syncthreads(); } if (!t) atomicAdd(out, s[0]); }
K block_sum_plain(const int *in, int *out) { __shared__ int s[128]; ID; s[t] = in[g]; __syncthreads(); for (int k = 64; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); } if (!t) *out += s[0]; }
// scopes and locks
#define LOCK(m, scope) while (atomicCAS(m, 0, 1)); scope
#define FREE(m, scope) scope; atomicExch(m, 0)
K locked(int *m, int *x) { if (!threadIdx.x) { LOCK(m, __threadfence()); *x += 1; FREE(m, __threadfence()); } }
K locked_no_release(int *m, int *x) { if (!threadIdx.x) { LOCK(m, __threadfence()); *x += 1; FREE(m, ); } }
K locked_block_fence(int *m, int *x) { if (!threadIdx.x) { LOCK(m, __threadfence_block()); *x += 1; FREE(m, __threadfence_block()); } }
K message(int *f, int *x) { if (threadIdx.x) return; if (!blockIdx.x) { *x = 5; __threadfence(); atomicExch(f, 1); } else { while (!atomicAdd(f, 0)); __threadfence(); x[1] = *x; } }
K message_no_fence(int *f, int *x) { if (threadIdx.x) return; if (!blockIdx.x) { *x = 5; atomicExch(f, 1); } else { while (!atomicAdd(f, 0)); x[1] = *x; } }
K ticket(int *m, int *x) { if (!threadIdx.x) { int mine = atomicAdd(m, 1); while (atomicAdd(m + 1, 0) != mine); __threadfence(); *x += 1; __threadfence(); atomicAdd(m + 1, 1); } }
K ticket_no_fence(int *m, int *x) { if (!threadIdx.x) { int mine = atomicAdd(m, 1); while (atomicAdd(m + 1, 0) != mine); *x += 1; atomicAdd(m + 1, 1); } }
// loops with dependences
K shift(int *a) { ID; int v = a[g + 1]; __syncthreads(); a[g] = v; }
K shift_race(int *a) { ID; a[g] = a[g + 1]; }
K strides(int *a) { ID; a[2 * g] = a[2 * g + 1] + 1; }
K strides_race(int *a) { ID; a[2 * g] = a[2 * g + 2] + 1; }
K halves(int *a) { ID; a[g] = a[g + 128] + 1; }
K halves_race(int *a) { ID; a[g] = a[g + 32] + 1; }
K indirect(int *a, const int *to) { ID; a[to[g]] = g; }
K bytes_apart(unsigned char *a) { ID; a[g] = g; }
K bits(u32 *a) { ID; atomicOr(a + g / 32, 1u << (g & 31)); }
K bits_race(u32 *a) { ID; a[g / 32] |= 1u << (g & 31); }
K row_sum(const int *in, int *out) { __shared__ int s[32][33]; int x = threadIdx.x, y = threadIdx.y; s[y][x] = in[32 * y + x]; __syncthreads(); out[32 * x + y] = s[x][y]; }
K row_sum_race(const int *in, int *out) { __shared__ int s[32][33]; int x = threadIdx.x, y = threadIdx.y; s[y][x] = in[32 * y + x]; out[32 * x + y] = s[x][y]; }
K twice_used(const int *in, int *out) { __shared__ int s[64]; ID; for (int k = 0; k < 3; k++) { s[t] = in[t] + k; __syncthreads(); out[64 * k + t] = s[63 - t]; __syncthreads(); } }
K twice_used_race(const int *in, int *out) { __shared__ int s[64]; ID; for (int k = 0; k < 3; k++) { s[t] = in[t] + k; __syncthreads(); out[64 * k + t] = s[63 - t]; } }
K stale_part(const int *in, int *out, int n) { __shared__ int s[64]; ID; if (t < n) s[t] = in[t]; __syncthreads(); if (t < 32) out[t] = s[t] + s[t + 32]; }
K whole_part(const int *in, int *out, int n) { __shared__ int s[64]; ID; s[t] = t < n ? in[t] : 0; __syncthreads(); if (t < 32) out[t] = s[t] + s[t + 32]; }
K early_exit(const int *in, int *out, int n) { __shared__ int s[64]; ID; if (t >= n) return; s[t] = in[t]; __syncthreads(); out[t] = s[n - 1 - t]; }
