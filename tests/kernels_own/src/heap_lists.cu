// Linked lists on the device heap; one launch builds, one sums and frees.  Uses new and delete.
struct Node {
    long long value;
    Node *next;
};
__device__ Node *heads[16];

extern "C" __global__ void build_lists(const int *lengths)
{
    int t = threadIdx.x;
    Node *head = nullptr;
    for (int i = 0; i < lengths[t]; ++i) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->value = (long long)i * i - t;
        node->next = head;
        head = node;
    }
    heads[t] = head;
}

extern "C" __global__ void heap_lists(long long *sums, int *odd)
{
    int t = threadIdx.x, n = 0;
    long long sum = 0;
    int *marks = new int[8];
    for (int i = 0; i < 8; ++i) marks[i] = 0;
    while (Node *node = heads[t]) {
        sum = sum * 3 + node->value;
        ++marks[n++ & 7];
        heads[t] = node->next;
        free(node);
    }
    sums[t] = sum;
    odd[t] = marks[1] * 100 + marks[7];
    delete[] marks;
}
