"""Convergence barriers: how diverged lanes of a warp wait for one another from sm_70 on.

Every lane has a pc of its own.  Lanes that execute together are a *group*; one group of a warp
runs at a time.  `BSSY Bn` opens an *activation* of the executing lanes, `BSYNC Bn` waits until all
of its lanes that have not ended have come, `BREAK Bn` leaves it.  Bn is kept for each lane: a
function that saves Bn, opens another activation and restores Bn disturbs nobody who waits.

    groups      the groups of a warp, and the rules of their waiting and their order
    step        control flow with them, as the step engine executes it
    kept        the groups in a warp's record, where usual code has them, and back
    compiled    control flow on the record, as functions of the run-time library

The hardware's order is not public.  Ours (*modelled*) takes the ready group with the lowest pc and
runs it until it waits, splits, ends or yields; no lane that can run waits for ever.  Sources: the
PTX ISA, US patent 10,067,768, and what ptxas emits.
"""
