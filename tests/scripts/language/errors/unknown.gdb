echo first\n
nosuchcommand
