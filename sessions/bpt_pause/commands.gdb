# BPT.PAUSE from the host's side: a warp that stops itself, and what a driver reads then.

# stages() squares 64 numbers. Between two stages warp 1 executes BPT.PAUSE: "wait for me".
continue

# Warp 1 stands at its BPT; warp 0 ran on to its end.
info warps

# A driver learns of it through the SM's debugger port. BPT_PAUSE is set in the global error
# status, bit 1 of the pause mask is warp 1, and the SM is locked down: nothing moves. Below
# the registers is the log of what the host did: debug mode on; RUN_TRIGGER; then the event,
# and STOP_TRIGGER, which LOCKED_DOWN has to answer before anything may be read.
info sm port

# It is no error: the warp's own error status is empty, and nothing has to be repaired.
info trap

# A single step is a sequence as well: the event is cleared by writing back what was read,
# SINGLE_STEP_MODE goes on, the pause mask off, STOP_TRIGGER is taken back in a write of its
# own, and RUN_TRIGGER lets one instruction go.
stepi
info sm port 0 log 12

# And on: without single-step mode this time.
continue
