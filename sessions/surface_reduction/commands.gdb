# A reduction outside a surface, three times: dropped, moved to the edge, or trapped.

# 32 threads vote for the cells of a surface, 8 cells wide and 4 high. A vote is one SURED: read,
# add 1, write, in one piece. Every row slides two cells further to the right, so that eight of the
# 32 votes are for cells that are not there. The kernel casts them three times, with each clamp.
tbreak votes+0x48
continue
x/3i $pc
print all (int)$R2 / 4

# R2 is the x coordinate, in bytes: a .b access counts bytes, whatever the surface holds. The first
# SURED has the clamp IGN (.zero in PTX): it takes no notice of a vote outside.
stepi
info outside 1 IGN
info buffers dropped

# 24 votes were counted, and eight are lost without a word. The second has NEAR (.clamp in PTX;
# SASS does not write it out): a vote outside goes to the nearest cell.
stepi
info outside 1 NEAR
info buffers moved

# All 32 votes are there, at the wrong place: cell 0 of row 0 has four instead of one. A sum over
# the surface shows nothing. The third has TRAP (.trap in PTX):
stepi

# The instruction had no effect, in the good lanes either, and the card names the thread and its
# coordinates. While a kernel is young, trap: of the other two, one falsifies the sum and one the
# edge.
info buffers strict
