if 1
echo a\n
end junk
end
