"""What lanes have in common, proven from the code: one analysis for engines, people and checks.

The lattice, of a register's lanes among the active ones, from the most to the least that is known:

    known        `ValueShape(1, offsets, (base,))`: the number in every lane
    uniform      `ValueShape(1, zeros)`: one number, not known
    rows         `ValueShape(2 or 4, zeros)`: one number in each row of 16 or 8 lanes
    affine       `ValueShape(rows, offsets)`: base of its row + known offset of the lane
    varying      None

Where two ways meet, the join is the least of these that both are (`values.join`): the fewest rows
in which both have the same offsets; bases stay where they are equal.  Masks (predicates, flags):

    known        `Truth(1, True or False)`: all lanes or none
    same         `Truth(rows)`: the same in all lanes of each row
    varying      None

`given` marks what is so unless a sum of the pattern wraps around (an address's high word, an index
shifted right, a comparison of two values that are apart by a constant).  What is computed from
such a value is such a value.  Who needs a proof leaves these out; compiled code takes them as
guesses, which it tests.

    values.py     the lattice, and the machine interface on it: an instruction's effect is its
                  semantics function's (`gpudbg.sm.semantics`), in all instruction sets
    execution.py  one instruction on what is known
    analysis.py   the data flow over basic blocks (`gpudbg.sm.cfg`), and where lanes part
    meetings.py   where lanes that parted meet, and what was written meanwhile
    regions.py    code of sm_70 and later behind which lanes that part in it are together again
    calls.py      calls of these that come back, and those that are jumps
    parting.py    which branches decide whether an instruction is executed (post-dominators)
"""
