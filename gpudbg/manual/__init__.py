"""The manual: reference pages made from the program's own tables, and the pages of `docs/`.

The site (`make docs`), `gpudbg help TOPIC`, `man gpudbg` and the completions of shells are all made
from here, so that a command, a flag or a policy is described once, where it is defined.
"""
