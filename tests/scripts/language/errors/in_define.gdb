define f
echo f\n
nosuchcommand
end
f
echo never\n
