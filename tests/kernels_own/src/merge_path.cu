// Bottom-up merge sort in shared memory; every element finds its place by binary search.  The
// order is a functor, the element a struct.
struct Item {
    float key;
    unsigned short id;
};
struct Less {
    __device__ bool operator()(const Item &a, const Item &b) const { return a.key < b.key; }
};
struct GreaterThenId {
    __device__ bool operator()(const Item &a, const Item &b) const
    {
        return a.key > b.key || (a.key == b.key && a.id < b.id);
    }
};

template <class Order> __device__ void merge_sort(Item *items, int n, Order before)
{
    __shared__ Item from[128], to[128];
    int t = threadIdx.x;
    from[t] = items[t];
    __syncthreads();
    for (int width = 1; width < n; width *= 2) {
        int pair = t / (2 * width) * 2 * width;
        bool second = t - pair >= width;
        int other = second ? pair : pair + width;
        Item mine = from[t];
        int low = 0, high = width;
        while (low < high) {
            int mid = (low + high) / 2;
            bool right = second ? !before(mine, from[other + mid]) : before(from[other + mid], mine);
            if (right) low = mid + 1;
            else high = mid;
        }
        to[pair + (t - pair) % width + low] = mine;
        __syncthreads();
        from[t] = to[t];
        __syncthreads();
    }
    items[t] = from[t];
}

extern "C" __global__ void merge_path(Item *items, int n, int descending)
{
    if (descending) merge_sort(items, n, GreaterThenId());
    else merge_sort(items, n, Less());
}
