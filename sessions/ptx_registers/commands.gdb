# A tour of the PTX special registers: what every thread knows about itself.

# whoami() runs as four blocks of 16 x 4 threads on two SMs. Stop after all the readings.
break ptx_registers.cu:15
continue
info warps

# Two rows of threads fill a warp: lane 16 is thread (0,1,0).
print all %tid.x
print all %tid.y
print all %laneid

# The same in all lanes: where the warp runs, and the shape of the launch.
print %warpid
print %smid
print %nsmid
print %ctaid.x
print %nctaid.x
print %ntid.x

# Lane masks: this lane, and those below it. The number of ones in `%lanemask_lt & ballot` is a
# lane's place among the lanes that do the same.
lane 5
print/t %lanemask_eq
print/t %lanemask_lt

# In machine code most of these are one special register each. %smid and %warpid are not: both
# are fields of SR_VIRTID, and the compiler takes them out with BFE (0x914: 9 bits from bit 20).
info ptx %smid %laneid %clock
info special SR_VIRTID
x/i whoami+0x98

# %clock counts issued instructions here. gpudbg models no time, and says so: `info policy`.
print %clock

# The other SM has a warp in the same slot, with the same lane numbers: only %smid tells them
# apart.
tbreak ptx_registers.cu:15 if %smid == 1
delete 1
continue
print %smid
print %ctaid.x
