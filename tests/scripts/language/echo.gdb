echo a\
b\
c\n
echo  two  blanks  \n
echo "quoted"\n
echo tab\there\\ \101 \x41\n
