alias pp = print
pp 5
pp/x 255
alias twice = pp
twice 6
define hello
echo hello $arg0\n
end
alias hi = hello
hi you
with confirm off -- print 1 + 2
with print pretty on -- pp 7
init-if-undefined $once = 3
print $once
init-if-undefined $once = 4
print $once
print 'a'
print 'a' + 1
print '\377'
print '\101'
print '\x41'
print sizeof('a')
print/d 'a'
print/s 65
output 'b'
echo \n
dont-repeat
