"""Named policies of what runs beside the threads: copies, mbarriers, clusters, warp groups."""

from __future__ import annotations

from gpudbg.sm.policy_types import Policy

ASYNC_POLICIES: tuple[Policy, ...] = (
    Policy(
        "async-completion",
        "modelled",
        "A copy beside the threads (LDGSTS, UBLKCP, UTMALDG, UTMASTG and their reductions, "
        "STAS, REDAS) is done when its instruction has executed, and its bytes count on its "
        "mbarrier then; waiting for groups of copies ends at once. Fences order nothing more.",
        "Asynchronous work may finish at once; programs without races see the same.",
    ),
    Policy(
        "mbarrier-word",
        "inferred",
        "From sm_90 on an mbarrier's word has the phase in bit 63, minus the pending arrivals "
        "in 43 to 62, minus the expected ones in 1 to 20; transactions are a signed number in "
        "22 to 42. Up to sm_89 the low word is minus the expected arrivals, the high one the "
        "phase and minus the pending ones. An invalidated word keeps its bits; arrivals beyond "
        "the pending ones wrap around.",
        "Compiled code builds and reads these fields; where transactions are counted is modelled.",
    ),
    Policy(
        "mbarrier-wait",
        "modelled",
        "A test of an mbarrier's phase that fails lets the warp's other lanes and then other "
        "warps, of any block, have their turns; TRYWAIT is never suspended for longer. Arrivals"
        " of one instruction take effect in ascending lane order.",
        "How long hardware suspends a thread is not public; loops around the test go on in any "
        "case, and one that can never succeed is a deadlock.",
    ),
    Policy(
        "cluster-places",
        "modelled",
        "All blocks of a cluster begin together, rank by rank on the SMs in turn; the next "
        "cluster begins when there is room for all of it. Where nobody chose the number of SMs,"
        " a launch whose cluster needs more of them gets them.",
        "Blocks of a cluster are resident together (documented); which SM has which is not public.",
    ),
    Policy(
        "cluster-addresses",
        "inferred",
        "Bits 24 to 31 of an address of shared memory are a block's rank in its cluster. "
        "Instructions that reach the own block only take its rank or 0; others' memory is "
        "reached by generic addresses, mbarrier arrivals with .RED, copies, STAS and REDAS. A "
        "rank that the cluster does not have, and a block that has ended, are OOR_ADDR.",
        "Compiled code builds addresses so; what hardware does with a wrong rank is not public.",
    ),
    Policy(
        "tensor-map",
        "inferred",
        "The fields of a tensor map are where code of PTX tensormap.replace writes them; bits "
        "without a known meaning are ignored. im2col needs a map that device.tensor_map made. "
        "Elements outside a tensor read as 0 or as the quiet NaN 0x7fff...; tf32 loses its low "
        "13 bits, .ftz types their subnormals. A map that cannot be is ILLEGAL_INSTR_PARAM.",
        "The driver's encoder is closed; the NaN and the rounding of tf32 are modelled.",
    ),
    Policy(
        "warpgroup-products",
        "modelled",
        "Each warp of a group computes its 16 rows when it executes the product, reading shared"
        " memory then; there is nothing to wait for. Numbers add as in mma of the same types: of "
        "fp8 each block of 32 products, and the sum, keep 13 fraction bits below the largest of "
        "them, so that a long sum may be off by a thousandth.",
        "PTX forbids to change operands before the wait, so the moment cannot be seen.",
    ),
    Policy(
        "setmaxnreg",
        "modelled",
        "Asking for more registers succeeds at once; a thread has as many as the kernel asks "
        "for anywhere. Use of registers that were given back is not reported.",
        "The pool of a block is not modelled.",
    ),
    Policy(
        "dependent-launch",
        "modelled",
        "ACQBULK and PREEXIT do nothing: a launch begins when the one before it has ended.",
        "Programmatic dependent launches are not modelled.",
    ),
    Policy(
        "work-stealing",
        "modelled",
        "UGETNEXTWORKID (clusterlaunchcontrol.try_cancel) is always answered with no: every "
        "block begins by itself.",
        "A request may fail at any time (documented).",
    ),
    Policy(
        "elected-lane",
        "modelled",
        "ELECT chooses the lowest lane; R2UR and uniform operations take the lowest lane's "
        "values, and R2UR's predicate is true in lanes whose value differs.",
        "PTX leaves the choice open; the predicate is what compiled loops need.",
    ),
)
"""Rows of `gpudbg.sm.policy.POLICIES`."""
