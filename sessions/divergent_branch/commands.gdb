# A divergent branch, one instruction at a time: who runs, who waits, and where they meet again.

# collatz gives 32 threads the numbers 1 to 32. Odd numbers go to one side of an `if`, even
# numbers to the other. The 32 lanes of a warp have ONE program counter, so the warp has to
# walk both sides, one after the other. Here is the code around the branch:
until *0x98
x/9i $pc

# P0 is true in the lanes whose number is even: they will take the branch. All lanes are still
# active (#), and one token lies on the divergence stack: SSY at 0x30 pushed it, and it says
# where the warp meets again.
print all $P0
info stack

# The branch itself. The lanes that fall through go first; the others wait (_). A second token,
# DIV, holds them and the place where they go on.
stepi
info warps
info stack

# Over the call of grow(): R4 is 3n + 1, but only in the 16 lanes that run. The values in
# parentheses belong to lanes that wait; nothing was written there.
nexti
print all $R2
print all $R4

# SYNC ends this side. The warp does not go on to line 15: the lanes that wait come first.
stepi
info warps
info stack

# They call halve() and come to their own SYNC. Now nobody is left to wait for: all 32 lanes
# go on together at the place the SSY named.
nexti
stepi
info warps
info stack

# What it cost: both sides were executed by the same warp, one after the other, each with half
# of its lanes idle. The result does not show it.
continue
info buffers out
