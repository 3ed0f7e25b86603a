"""AMD wave hardware registers (gfx6..gfx12): the hwreg operand, its instructions, their effect.

Pure modules, each usable alone: `lexer`, `expression` and `symbols` (assembler text as llvm-mc 19
reads it), `operand` (the hwreg operand both ways), `scalars` (scalar registers), `instruction`
(SOPK words both ways), `assembler` (whole lines), `registers` (ids, names, fields by generation),
`apply` (what a read returns and a write changes), `wave` (the state of a trapped wave, told).
Facts live in `data/`; each file says where they come from.
"""
