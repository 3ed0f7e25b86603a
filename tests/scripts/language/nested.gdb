define outer
  define inner
    printf "inner %d of %d\n", $arg0, $argc
  end
  set $k = 0
  while $k < $arg0
    inner $k
    set $k = $k + 1
  end
end
outer 3
document inner
says its argument
end
help inner
define twice
  $arg0 $arg1
  $arg0 $arg1
end
twice echo again\n
show user twice
define count
  if $argc == 0
    echo none\n
  else
    if $argc == 1
      echo one\n
    else
      echo many\n
    end
  end
end
count
count a
count a b
count 'a b'
count a\ b
count (1 2)
