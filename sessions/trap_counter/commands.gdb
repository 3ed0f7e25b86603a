# A trap handler that counts and resumes: the kernel asks for attention and never notices.

# probe() adds numbers in nine turns; on turns 3 and 7 it executes BPT.TRAP 1 (CUDA's __brkpt()). A
# handler in SASS is installed (probe.toml), so the trap does not stop the launch: the warp goes to
# the handler, its pc and lanes are put aside, and we stop at the handler's first instruction.
info trap
continue
info trap

# Status bits say why: no warp error, and 1 is the immediate of the BPT.TRAP.
info special SR_WARPERRORSTATUS

# The handler needs registers, and all of them belong to the kernel. It puts five aside in local
# memory, which is its own while it runs, predicates and flags too. Then it loads the address of its
# counters and picks one lane to count for the warp.
x/7i $pc
stepi 16
x/2dw $L2

# One RED counts the entry. Three instructions later the immediate is added to the second word.
stepi
x/2dw $L2
stepi 3
x/2dw $L2

# There was no error, so it branches to the end, puts everything back, and RTT returns.
stepi 12

# Without stops at the handler's entry, to the end of the loop: the second trap came and went.
# `sum` knows nothing of it, it is 0 + 1 + … + 8 = 36 times the thread's number.
set trap-entry run
tbreak probe.cu:10
continue
info trap
x/2dw 0x705249000
continue

# The other block did the same on SM 1: four traps, four returns, and the right result.
info trap
info buffers out
