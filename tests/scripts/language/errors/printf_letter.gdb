printf "%y", 1
