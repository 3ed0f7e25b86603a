# A stack that overflows: a recursion that never ends, told by the rhythm of its frames.

# heights() asks for the height of a tree below each of its 15 nodes, by recursion. Run it:
continue

# The stack of a thread is 1,024 bytes, as on a GPU by default. Thread 2 is guilty: who called whom?
backtrace 12
list 3,9

# A rhythm of three: line 6, line 7, line 7, again and again. Line 6 goes to the left, line 7 to the
# right. From node 2: to the left is node 5, from there to the right node 12, and then?
print arg0[2]
print arg1[5]
print arg1[12]

# Node 12 says that node 2 is below it, and 12 is below 2: a circle. Were it a deep tree, a larger
# stack would do (`--stack 2048`); for a circle none is large enough. Where do lanes wait meanwhile?
info warps
