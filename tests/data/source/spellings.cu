namespace geo {
struct Base {
    int id;
    __device__ __noinline__ Base(int k)
    {
        id = k;
    }
};
struct Node : Base {
    const Node *next;
    short arr[3];
    __device__ __noinline__ Node(int k) : Base(k + 1), next(nullptr) {}
};
}
struct Two {
    int a;
    float b;
};
__device__ __noinline__ Two make(int t)
{
    Two r = {t + 1, t * 0.25f};
    return r;
}
__device__ __noinline__ int add(int a, int b)
{
    return a + b;
}
extern "C" __global__ void spellings(const int *in, int *out)
{
    int t = threadIdx.x;
    geo::Node node(t);
    node.arr[0] = t;
    node.arr[1] = node.arr[2] = 7;
    int *p = out + t;
    int **pp = &p;
    const geo::Node *const *path = &node.next;
    int(*pair)[2] = (int(*)[2])&node;
    void *raw = pair;
    const char *text = "seven";
    int (*op)(int, int) = add;
    auto [m, n] = make(t);
    Two two = make(t + 1);
    auto &[ra, rb] = two;
    ra += 5;
    *p = op(**pp, m) + (int)n + (int)rb + node.id;
    *p += (*pair)[0] + *(int *)raw + text[0] + (path != nullptr) + in[t];
}
