"""What each instruction does, written once against `Machine` (see machine.py).

`register(*mnemonics)` enters a function in `TABLE`; `lookup(insn)` finds it.  Families:
integer, logic, setcmp, video, fp32, fp64, half, convert, move, predicate, memory, control, system.

Certainty words in docstrings: *documented* (PTX ISA, CUDA guide, nvdisasm), *inferred* (from
what compilers emit and public translators agree on) and *modelled* (our choice; listed by `info
policy`).
"""
