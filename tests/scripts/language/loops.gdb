set $i = 0
while $i < 3
  set $j = 0
  while 1
    if $j >= $i
      loop_break
    end
    printf "%d%d ", $i, $j
    set $j++
  end
  set $i++
  if $i == 2
    loop_continue
  end
  echo round\n
end
define stop_early
  set $n = 0
  while $n < 10
    if $n == $arg0
      loop_break
    end
    set $n++
  end
  printf "n=%d\n", $n
end
stop_early 4
stop_early 12
if 1
loop_break
end
echo on\n
define leaves
echo before\n
loop_break
echo never\n
end
if $nope
echo void is true\n
else
echo void is false\n
end
if(1)
echo paren\n
end
while(0)
end
if 1.5
echo float\n
end
if 0.0
else
echo zero\n
end
