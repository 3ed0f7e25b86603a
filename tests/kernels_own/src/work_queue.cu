// Persistent warps take tasks of different length from a counter; tasks add further tasks,
// which a second launch takes.
struct Task {
    unsigned n;
    unsigned short depth, id;
};
__device__ Task tasks[512];
__device__ unsigned head, tail;

extern "C" __global__ void work_queue(unsigned *steps, unsigned count)
{
    int lane = threadIdx.x & 31;
    for (;;) {
        unsigned i = 0;
        if (lane == 0) i = atomicAdd(&head, 1);
        i = __shfl_sync(0xffffffffu, i, 0);
        if (i >= count) return;
        Task task = tasks[i];
        unsigned n = task.n + lane, length = 0;
        while (n != 1) {
            n = n & 1 ? 3 * n + 1 : n >> 1;
            ++length;
        }
        atomicMax(&steps[task.id], length);
        if (task.depth && lane < 2) {
            unsigned at = atomicAdd(&tail, 1);
            tasks[at] = Task{task.n * 2 + lane * 77, (unsigned short)(task.depth - 1), task.id};
        }
    }
}

extern "C" __global__ void rewind(unsigned first) { head = first; }
