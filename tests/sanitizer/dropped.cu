// Loops round accesses outside of what is allocated: what is left out gives 0, for ever.

extern "C" __global__ void atomic_for_ever(int* x, int n) {
  while (atomicCAS(&x[n], 1, 0) != 1) { }
  x[0] = 1;
}

extern "C" __global__ void load_for_ever(volatile int* x, int n) {
  while (x[n] == 0) { }
  x[0] = 1;
}

extern "C" __global__ void atomic_once(int* x, int n) {
  while (atomicCAS(&x[n], 0, 1) != 0) { }
  x[0] = 1;
}
