# The race you cannot see: right answers from a program that is wrong.

# hand_over() passes every number on to the thread 32 above. out[40] should be in[8], 80. It is.
run
print out[40]

# But nothing makes a warp wait for the one below it: it ran first because warps run in order
# here. A check looks at what the program orders, not at what came first.
check race

# Two accesses, by two warps, to the same four bytes. Stand at the first, the store ...
finding 1 1
x/i $pc
print in[threadIdx.x]

# ... and at the second, the load. On hardware nothing says which of the two comes first.
finding 1 2
x/i $pc
info warps

# To see it go wrong: another order of warps. `gpudbg check --schedules 20` looks for one, and
# `gpudbg run --seed 1` runs under one. The cure is a __syncthreads() in between.
