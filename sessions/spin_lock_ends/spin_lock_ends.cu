// compile: -arch=sm_80
// The lock of the story before: on sm_70 and later lanes of one warp take it one after the other.
extern "C" __global__ void count_up(int *lock, int *counter)
{
    while (atomicCAS(lock, 0, 1) != 0) {
        // spin until the lock is free
    }
    *counter += 1;
    atomicExch(lock, 0);
}
