//! {"kernel":"bases","block":[32],"args":[["buf","i32",64,"iota"],["buf","i32",64,"zero"]]}
struct Base { int id; short tag; __device__ int twice() const { return id * 2; } };
struct Mid : Base { float weight; };
struct Derived : Mid { double value; char mark; };
struct Flags { unsigned a : 3; int b : 5; unsigned c : 20; unsigned on : 1; long long big : 40; };
struct Node { int key; Node *next; float4 pos; };
__device__ __noinline__ int consume(Derived d, const Flags &f)
{
    int r = d.id + d.tag;
    r += f.a + f.b;
    r += (int)d.value;
    return r;
}
__device__ __noinline__ Node *last(Node *head)
{
    Node *p = head;
    while (p->next)
        p = p->next;
    return p;
}
extern "C" __global__ void bases(const int *in, int *out)
{
    int i = threadIdx.x;
    Derived d = {};
    d.id = in[i];
    d.tag = (short)(-i);
    d.weight = i * 0.25f;
    d.value = i / 8.0;
    d.mark = 'A' + (i & 15);
    Flags f = {};
    f.a = i & 7;
    f.b = -(i & 7);
    f.c = i * 1000;
    f.on = i & 1;
    f.big = -(long long)i * 12345678ll;
    int r = consume(d, f);
    Node n2 = {i + 2, nullptr, {1.0f, 2.0f, 3.0f, (float)i}};
    Node n1 = {i + 1, &n2, {0.5f, 0.25f, 0.125f, -1.0f}};
    Node *end = last(&n1);
    Base *b = &d;
    int t = b->twice();
    Base arr[3] = {{1, 2}, {3, 4}, {i, 6}};
    Base *q = arr + 1;
    q->id += 100;
    out[i] = r + end->key + t;
    out[i + 32] = arr[1].id + q[1].tag;
}
