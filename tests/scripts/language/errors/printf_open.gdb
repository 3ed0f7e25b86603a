printf "abc
