set $i = 0
while $i < 3
  if $i == 1
    echo one\n
  else
    if $i == 2
      echo two\n
    else
      printf "i=%d\n", $i
    end
  end
  set $i = $i + 1
end
set $i = 0
while 1
  set $i++
  if $i == 2
    loop_continue
  end
  if $i > 4
    loop_break
  end
  printf "%d ", $i
end
echo \n
