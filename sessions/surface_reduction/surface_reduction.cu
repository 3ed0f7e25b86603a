// Threads vote for a cell of a row; a vote is a reduction on a surface. Some vote for a cell that
// is not there. What becomes of such a vote is the instruction's clamp mode, here each of the three.
#define VOTE(clamp, surface)                                                                        \
    asm volatile("sured.b.add.2d.u32." clamp " [%0, {%1, %2}], %3;"                                 \
                 ::"l"(surface), "r"(4 * cell), "r"(row), "r"(1) : "memory")

extern "C" __global__ void votes(cudaSurfaceObject_t dropped, cudaSurfaceObject_t moved,
                                 cudaSurfaceObject_t strict)
{
    int row = threadIdx.y;
    int cell = (int)threadIdx.x + 2 * row - 3;    // row 0: -3 to 4, row 3: 3 to 10; cells 0 to 7
    VOTE("zero", dropped);
    VOTE("clamp", moved);
    VOTE("trap", strict);
}
