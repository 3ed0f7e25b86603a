# An update is lost: which of two, and when? The launch is over; it goes back from its end.

# 64 bookings: 100 each by the first warp, 7 each by the second. Account 20 was booked on by
# both and should have 107:
continue
print balance[20]

# Who wrote there? Nothing moves for a list. Two threads did, 7 first and 100 after it, and both
# numbers are too small: neither has the other's money in it.
who-wrote/4 balance[20]

# And who read? Both saw the 0 of the beginning, before either had written.
who-read/4 balance[20]

# Go to the store that was last. This thread is about to write 100 over the other's 7:
who-wrote balance[20]
print customer[threadIdx.x]

# Where do its 100 come from? From the balance that it had read 28 instructions before:
why/2 $R0

# So go to where both read: the second warp's load comes first on the way back, then the first's.
# From here to the store of line 9 every thread reads the same 0.
who-read balance[20]
who-read balance[20]
print $R0
info warps

# The barrier did not keep the warps apart: it made all of them read before any of them wrote.
# The cure is one atomicAdd(&balance[account], amount[t]) in place of the three lines. The way
# back to the end is as short:
goto 44
