set $i = 3
print $_isvoid($nope)
print $_isvoid($i)
print $nope
print "abc"
print sizeof("abc")
ptype "abc"
print/d "abc"[1]
print $_strlen("hello")
print $_streq("a","a")
print $_regex("abc","a.c")
set $s = "text"
print $s
output 5
output/x 255
echo \n
eval "print %d", 7
eval "set $v%d = %d", 3, 33
print $v3
print $
print $$2
print/x 'A'
print 5/2
print 5%3
print 5.0/2
print ~5
print 1?2:3
print/x 255
print/t 10
print/o 8
print/x 65
print/x (char)65
print -5/2
print 1,2
print $i++
print ++$i
print $i += 5
print $i -= 1
print $i *= 2
print (10 > 5 && 3 > 4) + 0
