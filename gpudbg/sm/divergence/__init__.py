"""The divergence stack: which lanes of a warp run now, and where the others wait.

The stack holds (kind, mask, target).  SSY, PBK, PCNT, PRET or CAL, PLONGJMP and PEXIT push a
token of the active lanes; a branch that only some lanes take pushes DIV with the lanes that go
elsewhere.  SYNC, BRK, CONT, RET, LONGJMP park lanes at the topmost token of their kind that
holds them.  When no lane is active the top entry is popped: its lanes, less the exited ones,
continue at its target.  *Inferred* from compiled code and public translators.

Parking removes the lanes from every entry above their token, so an entry that surfaces holds
exactly the lanes that wait for it.

Order of the sides (*modelled*, not observable without races): lanes that fall through run first,
then the targets by ascending address.  A backward branch thus runs the leavers first and keeps
the stack flat.

    step        the step engine, on a `WarpState`
    compiled    the same in compiled code, on the bytes of a warp's record

`tests/sm/test_concepts.py` holds the one against the other.
"""
