# The barrier that works until Volta: a warp that counts on lock-step, on sm_80.

# add_neighbour() gives thread t the numbers t and t + 1 in one: 1, 3, 5. So it does.
run
print out[3]

# For Maxwell and Pascal that is right by the way a warp runs. This is sm_80: lanes of a warp may
# part at any place, and then s[t + 1] is read while it has yet to be written.
check race

# A store and a load by two lanes of one warp. Stand at each.
finding 1 1
x/i $pc
finding 1 2
x/i $pc

# `gpudbg check --portability` says the same of a cubin for sm_52, as notes. The cure is a
# __syncwarp() between the two.
