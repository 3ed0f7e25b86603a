// A lock that works between blocks and never between the lanes of one warp.
extern "C" __global__ void count_up(int *lock, int *counter)
{
    while (atomicCAS(lock, 0, 1) != 0) {
        // spin until the lock is free
    }
    *counter += 1;
    atomicExch(lock, 0);
}
