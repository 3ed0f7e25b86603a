define hook-echo
printf "<"
end
define hookpost-echo
printf ">\n"
end
echo hi
define hook-echo
end
echo ho
