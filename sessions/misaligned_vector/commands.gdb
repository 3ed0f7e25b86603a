# A vector load from an address that is not a multiple of its size.

# scale4() handles four floats at a time, from the `skip`-th float on. skip is 1.
continue

# All 32 lanes are guilty. The address of the first is 4 bytes into the buffer, and LDG.E.128
# needs a multiple of 16. Each lane's address is 16 more than the last, so none of them fits.
print/x $L2
print all $L2 % 16

# skip is the launch's second parameter, at c[0x0][0x148].
print c[0x0][0x148]

# The instruction had no effect: R4 to R7 are as it found them. With a skip that is a multiple
# of four, or with four LDG.E in place of one LDG.E.128, the kernel works.
info registers R4 R5 R6 R7
