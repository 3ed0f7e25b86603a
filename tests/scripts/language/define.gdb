define foo
  printf "argc %d\n", $argc
  if $argc > 0
    echo [$arg0]\n
    printf "%d\n", $arg0
  end
  if $argc == 2
    printf "%s\n", $arg1
  end
end
document foo
First line of help.
  Second, indented.

After blank.
end
foo
foo 1+2
foo (1+2) "a b"
help foo
