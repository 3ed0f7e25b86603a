# A barrier that waits for threads the block does not have.

# Named barriers let producers hand over to a consumer: producers `bar.arrive` and go on, the
# consumer `bar.sync`s and waits. Each says how many threads take part.
continue

# A deadlock, and the report says why: barrier 1 holds 96 of 128 threads. The block has 96.
# 64 of them arrived, 32 wait, and the missing 32 do not exist.
info barriers
info warps
x/i handover+0x58

# 0x80 is 128: the author counted four warps. The producers (warps 0 and 1) have done their
# work and ended; the box in shared memory is full and nobody picks it up:
x/8dw (@shared int*)0

# With 96 in both instructions the consumer wakes up. It costs nothing to let the compiler
# count: `__syncthreads()` always waits for the block as it is.
