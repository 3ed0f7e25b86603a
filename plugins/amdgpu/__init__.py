"""AMD wave hardware registers (gfx6..gfx12): the hwreg operand, its instructions, their effect.

Pure modules, each usable alone: `registers` (ids, names, fields by generation), `operand` (the
hwreg operand, both directions), `scalars` (scalar registers), `instruction` (SOPK words, both
directions), `reader`, `expression` and `source` (text with symbols and integers, in llvm-mc 19's
words), `apply` (what a read returns and a write changes), `wave` (the state of a trapped wave).
Facts lie in `data/`; each file says where they come from.
"""
