printf "%d\n", $nope
