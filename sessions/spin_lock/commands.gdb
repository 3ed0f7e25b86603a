# A spin lock that hangs inside one warp: lane 0 has it and cannot go on to give it back.

# count_up() takes a lock, adds one and releases the lock. Between blocks that works. Here
# 32 lanes of ONE warp want it. The run would never end, so give it a limit.
set max-instructions 2000
continue

# The limit ended it; nothing is wrong with the last instruction. Who does what?
info warps
info stack

# 31 lanes spin (#) in the loop. One lane, lane 0, waits (_). Who holds the lock? It is taken:
print lock[0]
print counter[0]

# Lane 0 got it: its atomicCAS returned 0, so it left the loop, met the SYNC at 0x68 and waits
# at the reconvergence point 0x70 (the SSY token) for the other 31 lanes. They leave the loop
# when the lock is free, and the lock is freed at line 8, which comes after 0x70. Lane 0 waits
# for them, they wait for lane 0.
x/12i count_up+0x48
lane 0
print $R0

# One more turn of the loop changes nothing: every lane reads 1.
stepi 5
print all $R0

# Before sm_70 lanes of a warp have no progress of their own. A lock for single lanes has to
# release inside the loop, or be taken by one lane for its whole warp.
# To prove it, take the lock away by hand: one more lane gets it and then waits as well.
set lock[0] = 0
continue
info stack
print lock[0]
