# A spilled register: out to local memory, seen through the generic window, and back.

# mix() was compiled for 16 registers and needs more. At 0x98 the compiler puts R2 aside.
until *0x98
x/i $pc

# R1 is the stack pointer of local memory. Every thread has local memory of its own, and all
# of them use the same address for it.
print/x $R1
print all $R1 == 0xfffff0
print all $R2

# The store: one value for each lane, at the same local address.
stepi
print all local[$R1/4]

# The same bytes from outside: generic addresses have a 16 MB window that looks into the
# reading thread's own local memory. c[0x0][0x4] holds its base, as the driver wrote it.
print/x c[0x0][0x4]
print *(@generic int*)(c[0x0][0x4] + $R1)
lane 7
print *(@generic int*)(c[0x0][0x4] + $R1)
print local[$R1/4]

# And back: at 0x248 the value returns, into another register. LDL.LU is a load that tells the
# cache that nobody will read this again.
until *0x248
x/i $pc
stepi
print $R7
print all $R7

# How did one address mean 32 places? On a machine of the Tesla generation the rule is known:
# the l[] address, lane, warp and multiprocessor are woven into one device address. Lanes are
# neighbours there, so that a warp's spill is one piece of memory.
tesla local --addr 0x10 --tp 0 --mp 0 --warp 3 --lane 0
tesla local --addr 0x10 --tp 0 --mp 0 --warp 3 --lane 7
tesla local 0x8c1c
tesla stack --entry 3 --tp 0 --mp 0 --warp 3
continue
