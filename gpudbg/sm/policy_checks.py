"""Named policies of `gpudbg check`: how it judges where the memory model is silent."""

from __future__ import annotations

from gpudbg.sm.policy_types import Policy

CHECK_POLICIES: tuple[Policy, ...] = (
    Policy(
        "check-memory-model",
        "modelled",
        "Code for sm_50 to sm_62 is judged by the PTX memory consistency model, which is defined "
        "from sm_70 on: MEMBAR is fence.sc, LDG.CV and STG.WT are strong accesses.",
        "Those architectures have fences and no formal model.",
    ),
    Policy(
        "check-lock-step",
        "modelled",
        "Before sm_70 lanes that are active together at an instruction between two accesses are "
        "ordered; from sm_70 on, and with portability, only __syncwarp orders lanes.",
        "Warps of those architectures execute together; code is written for that.",
    ),
    Policy(
        "check-variable-bounds",
        "inferred",
        "An address made from that of a variable, by a relocation and additions alone, is that "
        "variable's: an access through it beside the variable is out of bounds.  Where two "
        "addresses meet, or one went through memory, nothing is said; of __constant__ and "
        "__shared__ variables neither, whose addresses are folded into offsets.",
        "a[i + 32] and b[i] are the same machine code where the compiler knows both places.",
    ),
    Policy(
        "check-syncwarp",
        "inferred",
        "A NOP or WARPSYNC orders the lanes that execute it.",
        "It is what ptxas leaves of __syncwarp for lanes that are together.",
    ),
    Policy(
        "check-shared-volatile",
        "modelled",
        "Volatile accesses to shared memory count as plain ones.",
        "The machine code does not tell them apart.",
    ),
    Policy(
        "check-atomic-scope",
        "inferred",
        "Atomics of sm_50 to sm_62 have the scope of the GPU; from sm_70 on the code names it, and "
        "the cluster's is the GPU's.",
        "atomicExch_block compiles to the instruction of atomicExch before sm_70.",
    ),
    Policy(
        "check-moved-values",
        "modelled",
        "Copies, selections, masks, shifts to the right and by whole bytes move a value that "
        "nobody has written, and say nothing; a shift to the left by any other count is a "
        "product, whose result is reported where it is stored.",
        "x * 2 is one shift for sm_70 and later, and an addition before.",
    ),
    Policy(
        "check-copy-window",
        "documented",
        "A copy or a product reads and writes from its issue until its end is known to the "
        "observer, by a wait for its group or the end of an mbarrier's phase; when the machine "
        "moved the bytes does not matter.  Not ordered issue: read_write or write_write; ordered "
        "issue and unknown end: pending.",
        "PTX ISA, asynchronous operations; the names of the causes are ours.",
    ),
    Policy(
        "check-copy-groups",
        "inferred",
        "Groups of cp.async and of bulk copies are one queue of a thread: DEPBAR.LE SB0, n leaves "
        "the newest n; with CCTL.IVALL behind it bulk stores are whole, else their source is read.",
        "Both kinds use one counter in compiled code; PTX counts them apart, so that no false "
        "alarm comes of it.",
    ),
    Policy(
        "check-proxy-fence",
        "modelled",
        "Generic accesses before one of the async proxy need a proxy fence between: without one a "
        "write is an error, a read before an asynchronous write a warning.  FENCE.VIEW.ASYNC.S "
        "behind MEMBAR.ALL.GPU counts for global memory, too.",
        "PTX ISA, proxies; much code leaves the fence out behind reads.",
    ),
    Policy(
        "check-mbarrier-arrival",
        "inferred",
        "Arrivals on an mbarrier of the own block release, tests acquire; on another block's only "
        "what a fence of the GPU's scope stands before is released.  A copy's end publishes its "
        "bytes alone.",
        "relaxed.cta and release.cta are one instruction.",
    ),
    Policy(
        "check-mbarrier-begin",
        "modelled",
        "The begin of an mbarrier is visible to whatever comes after it in time, a relaxed barrier "
        "of the cluster included.",
        "fence.mbarrier_init has no instruction.",
    ),
    Policy(
        "check-empty-slot",
        "modelled",
        "A copy that follows arrivals of other blocks, seen by a test of CTA scope, comes after "
        "what was read and copied before them.",
        "Pipelines of clusters are written so; the memory they would see stale is overwritten.",
    ),
    Policy(
        "check-warpgroup-reads",
        "modelled",
        "The shared memory that a product of a warp group reads is read for the whole group, and "
        "over for a warp after its own wait.",
        "PTX says it of the warps that wait; code releases stages for all by one of them.",
    ),
    Policy(
        "check-dependent-launch",
        "modelled",
        "A launch with overlap=True begins with what the one before it published by a fence and "
        "launch_dependents; griddepcontrol.wait orders it behind that launch, and behind earlier "
        "ones where that launch waited for them.",
        "CUDA: programmatic dependent launch.",
    ),
    Policy(
        "check-hand-over",
        "inferred",
        "From sm_70 on a store or atomic of shared memory behind a MEMBAR is strong, and a load or "
        "atomic with a NOP behind it that waits for the result (before sm_90: the NOP or an "
        "instruction between) acquires, at the block's scope; so is a load that its loop repeats "
        "until it changes.",
        "Release and acquire of shared memory leave nothing else in the machine code; before sm_90 "
        "a plain load whose result is used before a __syncwarp has the same words.",
    ),
    Policy(
        "check-swizzle",
        "modelled",
        "A swizzled box of at least one whole pattern lies where the pattern begins; else it is "
        "misaligned, a warning.",
        "The machine swizzles addresses, so such a box is whole; readers count from its begin.",
    ),
    Policy(
        "check-views",
        "modelled",
        "All views of a launch on one allocation promise together what is touched there; where the "
        "whole buffer is passed, or memory holds an address in it, nothing is promised.",
        "Which argument an address was made from is not in the machine code.",
    ),
    Policy(
        "check-quick",
        "modelled",
        "`gpudbg check --quick` looks for bad accesses and leaks alone, on compiled code.",
        "It is what costs next to nothing.",
    ),
)
