// Each thread books its amount on a customer's account: read the balance, add, write it back.
// No two threads of a warp have the same customer, and the barrier was to keep warps apart.
extern "C" __global__ void book(const int *customer, const int *amount, int *balance)
{
    int t = threadIdx.x;
    int account = customer[t];
    int old = balance[account];
    __syncthreads();
    balance[account] = old + amount[t];
}
