echo 1\n
if 1
  nosuchcommand
end
