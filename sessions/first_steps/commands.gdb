# A first walk: step a warp, meet divergence, look at shared memory, see the output.

# block_max finds the largest number of each block of 64 threads. It stands before its first
# instruction; every warp is ready and every lane (#) is active.
info warps
x/6i $pc

# One instruction of the focused warp, then six more.
stepi
stepi 6

# The digit loop: threads leave it at different times. Stop where the loop goes back,
# on the fourth turn; lanes that have left it wait (_) at the SYNC that SSY pushed.
break block_max+0x168 if $R4 > 0
ignore 1 3
continue
info warps
info stack
print all $R2

# Run to the loop of barriers and look at the block's shared memory.
delete
tbreak first_steps.cu:21
continue
x/16dw (@shared int*)0

# Run to the end: one maximum per block.
continue
info buffers out
