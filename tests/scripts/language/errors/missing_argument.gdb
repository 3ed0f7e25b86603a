define f
echo $arg1\n
end
f 1
