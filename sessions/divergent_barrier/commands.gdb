# A barrier inside an `if`: it does not hang, it pairs up with the wrong barrier.

# pairs() has two barriers. A stands inside `if (t < n)`, B behind it. With 96 threads and
# n = 64, warps 0 and 1 come to A (P0 is false there), and warp 2 goes straight on to B.
break divergent_barrier.cu:9 if $P0 == 0
tbreak divergent_barrier.cu:14
continue
continue
continue
info breakpoints

# Warp 2 stands in front of B, the other two wait at A. Both are BAR.SYNC 0: the hardware
# knows barriers by their number, not by their line.
info warps
info barriers
x/i $pc

# Two warps at A and one at B are 96 threads at barrier 0, and that is all it waits for. One
# more instruction, and everybody is released.
stepi
info warps

# Warp 2 reads the box now. Warps 0 and 1 have not yet written their sums into it: what warp 2
# gets are the raw inputs, 100, 101, 102 ...
delete
until *0x130
print all $R4

# Later, warps 0 and 1 come to B. Warp 2 has ended by then, and threads that have ended are
# not waited for. The launch ends without a word:
continue
info buffers out

# The first 64 numbers are sums; the last 32 should repeat the first 32 of them and do not.
# With another order of the warps they may be right, which makes it worse. A barrier belongs
# where every thread of the block comes by.
