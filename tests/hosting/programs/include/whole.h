template <typename T> __host__ __device__ T combine(T a, T x, T y) { return a * x + y; }
