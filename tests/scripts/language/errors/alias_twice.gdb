alias pp = print
alias pp = echo
