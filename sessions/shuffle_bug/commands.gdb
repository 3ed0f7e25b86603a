# A shuffle reads a lane that does not take part: it gets whatever stands in that register.

# warp_sum() adds 20 ones. The answer should be 20; it is 1220.
continue

# 1220 is 20 and twelve hundreds too many. Start again, and stop at the first shuffle.
start
until *0x88
info warps

# Lanes 20 to 31 wait (_): `if (lane < n)` keeps them out. Their R2 still holds what they
# loaded, the leftovers behind the 20 ones.
print all $R2

# SHFL.DOWN by 16: lane 4 reads from lane 20, which does not execute. CUDA leaves the value
# undefined; this model hands out what the register holds (`info policy`, shfl-inactive).
x/i $pc
lane 4
stepi
print $R0
print all $R0

# The mask 0xffffffff in the source promised that all lanes take part. The cure is to let them:
# lanes from n on bring a zero. To see that it is enough, put the zeros there by hand.
start
until *0x78
set print-lanes all
set $R2 = threadIdx.x < 20 ? 1 : 0
continue
