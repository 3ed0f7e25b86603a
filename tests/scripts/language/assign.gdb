set $a = 5
print $a += 2
print $a -= 1
print $a *= 3
print $a /= 2
print $a %= 5
print $a <<= 3
print $a >>= 1
print $a |= 1
print $a &= 7
print $a ^= 2
print ++$a
print --$a
print $a++
print $a--
print $a
set $b = $a = 9
print $b
print ($a == 9) * 4
print 1,2
set var $c = 3
set variable $d = 4
print $c + $d
print $_exitcode
print $_isvoid($e)
set $e = 0
print $_isvoid($e)
eval "set $v%d = %d", 1, 7
print $v1
eval "echo made\\n"
print $_streq("a", "b")
print $_regex("abc", "a.")
print $_strlen("")
set $t = "one"
set $t = "two"
print $t
print sizeof($t)
print "ab" "cd"
printf "%s %5s|%-5s|\n", $t, $t, $t
