# The shared value that nobody has written: memory is zero here, and only here.

# block_max() looks for the largest of 50 numbers from -50 to -1. It says 0, which is none of them.
run
print out[0]

# Had the numbers been above zero, the answer would have been right, on this machine. What is in
# the slots of threads 50 to 63?
check init

# A load of bytes that nobody wrote, and the place where the value decides: which way a comparison
# goes. Stand at the load.
finding 1 1
x/i $pc

# The slots of threads 48 to 63. Those from 50 on hold what was there before, zeros here.
x/16dw (@shared int *)0xc0

# The cure: `s[t] = t < n ? in[t] : INT_MIN`.
