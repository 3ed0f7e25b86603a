# A carry that travels: 128-bit addition in four steps, lane by lane.

# A lane's registers have 32 bits. Four IADDs add 128: the first sets the carry flag CC.C
# (`.CC`), the next ones take it in (`.X`) and set it again.
until *0x70
x/4i $pc

# R8 to R11 hold one operand, R4 to R7 the other, low word first. Lane n starts with n words
# that are all ones; each of them turns over when 1 is added.
lane 3
info registers/x R8 R9 R10 R11 R4 R5 R6 R7

# Step through the chain and watch the flag in lanes 0 to 3: lane 0 never carries, lane 1
# carries once, lane 2 twice, and lane 3 all the way up.
stepi
print all $CC.C
stepi
print all $CC.C
stepi
print all $CC.C

# The last one takes the carry in and sets no flag. Lane 3 has turned over completely:
stepi
info registers/x R8 R9 R10 R11
continue
info buffers sum
