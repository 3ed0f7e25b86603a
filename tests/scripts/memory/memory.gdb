find /b &table[0], +64, 1, 2
find /b1 &table[0], +64, 1
print $numfound
find /w &words[0], +32, 3, 1
find &words[0], +32, 7
find &table[0], +64, 'h', 'e'
find /h &table[0], +64, 0x201
find &table[0], +64, "hello"
find &table[0], &table[9], 9
find &table[0], +64, 77
x/4xb &table[0]
x/2dw &words[0]
x/s &table[10]
x/3c &table[10]
x/2xh &table[0]
x/2dw &words[6]
x/2ub &table[8]
x/2xg &table[0]
x/2tb &table[0]
x/2ob &table[0]
x/-2xb &table[4]
x
x/2zb &table[0]
output words[1]
dump binary memory DIR/bytes &table[0] &table[8]
dump binary value DIR/value words[1]
dump memory DIR/plain &table[0] &table[4]
dump value DIR/whole words
append binary memory DIR/bytes &table[8] &table[10]
restore DIR/bytes binary &table[20]
x/10xb &table[20]
