# The first lane that produces a NaN, told backwards: from the result to where it was made.

# normalize() scales 128 vectors to length 1. It ends without any complaint, and yet some of
# the results are not numbers:
continue
info buffers x

# Who wrote the first of them, x[60]? The launch goes back to before that store, with the focus
# on the lane that does it.
who-wrote x[60]
print all $F0

# Lane 28 alone. What did it compute F0 from?
why/2 $F0

# From 0 times infinity. Back to who made the infinity:
who-wrote $F7
print $F6

# The squared length is 0, so the scale is infinite: line 8 is the mistake, a vector without a
# length has no direction. Line 9, where the NaN shows, does nothing wrong.
list 8,9
print blockIdx.x * blockDim.x + threadIdx.x

# Whom else does it hit? From here on forwards: stop where a lane's scale is infinite. A NaN
# would be found by $F0 != $F0, as it is the only number that differs from itself.
break normalize+0xf8 if $F7 > 1e38
continue
continue
print all $F7 > 1e38
