printf "%d\n"
