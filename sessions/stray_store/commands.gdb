# A stray store: the total is wrong, and what stores it is right. Who else wrote there, and when.

# tally() counts the grades 0 to 7 of 64 pupils, and hands their number through: out[8] is n.
# It is 64 in the launch table, and 65 here. No fault, no warning.
continue
print out[8]

# Go back to who wrote out[8]: the launch stands before the store.
who-wrote out[8]
list 15,22

# The value came out of shared memory, word 8, behind the eight counters. And into that?
why/2 $R0

# There: word 8 of shared memory was written twice. First line 15 put the 64 in, and then came
# an atomic addition of line 17, which is for counters. Go to it:
who-wrote shared[8]
x/i $pc

# The lane knows where it adds: R7 is the address, its grade times four. It is behind the eight.
print $R7
print threadIdx.x
print grade[threadIdx.x]

# All the others of its warp add where they should:
print all $R7

# Further back is the value that should have stayed:
who-wrote shared[8]
