# A trap handler that saves state: from a stray store into the handler and through it.

# scatter writes 64 elements into a buffer of 60. A handler in SASS is installed (scatter.toml),
# so the error does not end the launch: the warp goes to the handler, and we stop at its entry.
info trap
continue
info trap

# What the handler's code can read, and what the host sees, bit by bit.
info esr
x/6i $pc

# The handler saves eight registers to its own local memory, then finds this warp's record.
stepi 12
stepi 12
print/x $R2
stepi 6
info special SR_WARPERRORSTATUS

# It writes everything to the save area and pauses. The record of warp 1 is where R2 and R3 say:
# pc, lanes, and further on the status words the handler read and the kernel's R0 of each lane.
continue
x/20wx 0x705303500
x/8wx 0x705303600
info sm port

# The warp had an error: when it is resumed, the handler ends it with RTT.TERMINATE.
continue
info sm port log 12
