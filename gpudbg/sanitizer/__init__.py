"""Checks of a run, each with a verdict: what `gpudbg.check` and `gpudbg check` do.

    findings     what a check reports: findings, accesses, results
    report       the results as text, JSON, SARIF, JUnit and GitHub annotations (`outputs`)
    monitor      the machine's events as executed instructions with their accesses
    races        happens-before by vector clocks (`clocks`)
    memory       accesses outside of what is allocated, leaks
    definedness  values never written, followed to where they decide something
    barriers     barriers and shuffles that not every lane takes part in
    performance  bank conflicts, coalescing, divergence
    run          a check of launches from begin to end

Definitions and policies: the page on checks in the documentation; what is a policy of ours is a
row of `info policy`.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
