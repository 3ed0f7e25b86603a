# An access out of bounds, traced back to its culprit: thread, index, array and line.

# smooth() averages each number with its neighbours. The launch is 4 blocks of 64 threads for
# n = 250 numbers. Run it:
continue

# The card names the guilty thread, the instruction and the address, and what lies nearest to
# that address: the end of the buffer `in`. On most GPUs this read goes unnoticed, because the
# page goes on behind the buffer.
# The focus is on the guilty lane already. Its index is the last valid one, 249 ...
print blockIdx.x * blockDim.x + threadIdx.x
print blockDim.x * 4

# ... and the load reads at [R2+0x4], the element behind it. R2 and R3 together are the
# address of in[i]; L2 is that pair as one number.
print/x $L2
info allocations
list out_of_bounds.cu:8

# `in[i + 1]` has no guard: line 7 looks after the left edge, nobody after the right one.
# The instruction had no effect, and no other thread has been touched:
info warps
