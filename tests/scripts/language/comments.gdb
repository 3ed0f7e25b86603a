# a comment
   # another
echo a # not a comment\n
echo continued \
here\n
if 1
  # inside
  echo in\n

end
printf "a\
b\n"
