# A tensor-core tile, lane by lane: which lane holds which element, and why d is wrong.

# left is 16x16 with 0, 1, 2, ... by rows, right is 16x8 with ones: an element of d is the sum of
# a row of left. The first row is 0 + 1 + ... + 15 = 120. What does the kernel say?
break *0x140
continue
print $F8

# 1080. Every lane loaded a few halves, and one HMMA multiplied all of them. Go back to it.
delete
start
until *0x120
x/i $pc

# What do the registers of the 32 lanes mean to it? Lane 5 is in brackets: PTX gives it rows 1
# and 9, two neighbours in the left half and two in the right half.
lane 5
info fragment A

# Row 0 should go on with 8, 9, 10. It goes on with 128, which is row 8. Who holds that place,
# and in which register? Row 0, column 8:
info fragment A lanes

# Lane 0, third register, R10. The kernel loaded it from 0x100 bytes on, which is row 8; the
# second register R9 has what belongs there: a1 and a2 of the kernel are the wrong way round.
# B and D have no such trap.
info fragment B
lane 0
print $R9
print $R10

# Swap them in every lane, and let the tensor core do it again.
set print-lanes all
set $kept = $R9
set var $R9 = $R10
set var $R10 = $kept
set print-lanes focus
info fragment A
stepi
info fragment D

# 120, 376, ...: the sums of the rows. So a1 is a[(g + 8) * 8 + t], and a2 is a[g * 8 + t + 4].
continue
