# A trap handler that counts and resumes: the kernel asks for attention and never notices.
info trap
continue
info trap
info esr

# One instruction at a time inside the handler, to the RTT that goes back.
x/4i $pc
stepi 16
disassemble
set trap-entry run
continue
