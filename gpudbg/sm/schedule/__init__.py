"""The order in which warps run: a deterministic policy with a seed.

A turn gives one warp `quantum` instructions, `turns.LONGER` times as many once it has executed
`turns.SETTLED`, and those up to the next turn point.  With seed 0 the ready warps of a block take
turns round robin; when none of them is ready, or the blocks in that place of the SM have had `STAY`
instructions, the next block by (SM, slot) has its turns.  Any other seed draws the warp and the
length of its turn from a generator.  The turn in progress is part of the state, so a stop in its
middle does not change what runs afterwards.

    turns       where turns can end
    polling     loops after whose turns warps of other blocks go first
    step        the schedule as the kernel run asks for it
    compiled    the same in compiled code: the loop that runs warps of a grid

`tests/sm/test_concepts.py` holds the one against the other.
"""
