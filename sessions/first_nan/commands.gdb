# The first lane that produces a NaN: stop where it is made, not where it is noticed.

# normalize() scales 128 vectors to length 1. It ends without any complaint, and yet some of
# the results are not numbers:
continue
info buffers x

# Which instruction made the first one? A NaN is the only number that differs from itself, so
# that is the condition. F0 is register R0 read as a float, the product line 9 will store.
start
break normalize+0x108 if $F0 != $F0
continue

# Lane 28 is guilty. Look at what went into it: F7 is the scale, F6 the squared length.
# The length is 0, so the scale is infinite, and 0 times infinity is a NaN. The mistake is one
# line earlier: a vector without a length has no direction.
print $F0
print $F7
print $F6
print blockIdx.x * blockDim.x + threadIdx.x

# Nothing is wrong in the other lanes of the warp:
print all $F0

# Whom else does it hit? Each further stop is a warp with at least one such lane.
continue
print all $F0 != $F0
