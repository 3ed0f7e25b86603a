set $s = "text"
printf "%s|%5s|%-5s|%c|%5d|%-5d|%05d|%x|%#x|%o|%f|%.2f|%e|%g|%%|%5.1f|\n", $s, "ab", "cd", 'x', 42, 42, 42, 255, 255, 8, 1.5, 3.14159, 1234.5, 0.1, 2.25
printf "no args\n"
printf "%p %p\n", 0, 16
printf "%5c|%-3c|\n", 65, 66
