# The intra-warp spin lock that hangs on Maxwell ends here: sm_80, the same source.

# 32 lanes of one warp want a lock that one of them takes. On sm_50 (the story spin_lock) lane 0
# waits for the others before it can give the lock back. Stop where a lane has the lock:
break 8
continue

# Who does what? From sm_70 on every lane has a pc of its own; lanes with one pc are a group.
info warps
print lock[0]

# One lane left the loop and met BSYNC B0. It does not wait for the others for ever: they only
# yield (YIELD in the loop), so it goes on without them and gives the lock back.
x/7i count_up+0x60
info stack

# A step follows the focused lane: it adds one and frees the lock. The others spin meanwhile.
stepi 6
print lock[0]
print counter[0]

# The next one to leave the loop is another lane.
continue
info stack
print counter[0]

# And so on, one after the other, to the end: 32.
delete
continue
