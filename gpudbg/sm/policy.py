"""Named policies: what the model assumes where public documents are silent or unclear.

`info policy` prints these rows.  The certainty words: *documented* (a public text says so),
*inferred* (from what compilers emit or drivers do), *modelled* (our choice).  What "measured on
H100" says was read off that card (`tests/silicon`).
"""

from __future__ import annotations

from gpudbg.sm.policy_async import ASYNC_POLICIES
from gpudbg.sm.policy_checks import CHECK_POLICIES
from gpudbg.sm.policy_hazards import HAZARD_POLICIES
from gpudbg.sm.policy_traps import TRAP_POLICIES
from gpudbg.sm.policy_types import Certainty, Policy
from gpudbg.sm.schedule.step import DEFAULT_QUANTUM
from gpudbg.sm.schedule.turns import LONGER, SETTLED

__all__ = ["POLICIES", "Certainty", "Policy"]

POLICIES: tuple[Policy, ...] = (
    Policy(
        "schedule",
        "modelled",
        "Ready warps of a block take turns round robin, then those of the next block by SM and "
        f"slot; a turn is {DEFAULT_QUANTUM} instructions ({DEFAULT_QUANTUM * LONGER} for a warp "
        f"that has executed {SETTLED}) and those to the "
        "next flow instruction or 512-byte border; after a turn with a YIELD or NANOSLEEP, or with "
        "the branch of a short loop that polls (a volatile load or atomic and no store, or a "
        "compare-and-swap or exchange) and has neither, the next warp of whichever block has its "
        "turn; a seed other than 0 draws the order and the length of turns from a generator.",
        "Hardware order is not public; the same seed gives the same run, bit for bit.",
    ),
    Policy(
        "host-threads",
        "modelled",
        "With --jobs above 1 blocks run on several host threads, the warps of a block together, "
        "and global atomics are the host's; a thread takes neighbouring blocks ahead, so that one "
        "may begin before others with smaller numbers; without work it takes over blocks of "
        "another one, and clocks count the instructions of one thread.  What needs a stop in one "
        "thread stops the others at the end of their turns (at most "
        f"{DEFAULT_QUANTUM * LONGER} instructions and those to "
        "the next flow instruction); "
        "a second warp that is at a stop then stands before its instruction and stops the next "
        "run.  A seed, observers, a trap handler and the last million instructions of a budget "
        "run on one thread.",
        "State is exact at every stop; only the order of instructions of different blocks, which "
        "programs without races cannot see, is not the same from run to run.",
    ),
    Policy(
        "time",
        "modelled",
        "SR_CLOCKLO counts warp instructions issued on the SM, SR_GLOBALTIMER those of the GPU in "
        "steps of 32 ns.",
        "Timing is not modelled; a counter that grows with work keeps polling loops honest.",
    ),
    Policy(
        "divergence-order",
        "modelled",
        "At a divergent branch the lanes that fall through run first; the taken side waits on "
        "the divergence stack.",
        "Which side runs first is not observable in programs without races.",
    ),
    Policy(
        "divergence-stack",
        "inferred",
        "SYNC, BRK, CONT, RET and LONGJMP take the topmost token of their kind that holds the "
        "lane, and drop what lies above it.",
        "Agrees with every branch target that ptxas records in .nv.info, and with public "
        "translators.",
    ),
    Policy(
        "divergence-stack-size",
        "modelled",
        "A warp has 1024 divergence-stack entries; one more is STACK_OVERFLOW.",
        "The size of the spill area behind the hardware stack is set by the driver.",
    ),
    Policy(
        "barrier-deadlock",
        "modelled",
        "When no warp can go on and some wait at barriers, the run ends as a deadlock that lists "
        "every warp's place.",
        "Hardware hangs until a watchdog ends the launch.",
    ),
    Policy(
        "hang-clocks",
        "modelled",
        "A wait loop that reads a clock is a hang if no value of the clock leaves it: branches "
        "that the clock decides are followed both ways, by all lanes together.  A wait that gives "
        "up after some time goes on, and so does one that counts its turns without end.",
        "Libraries wait with a back-off by the global timer; time alone ends none of these waits.",
    ),
    Policy(
        "livelock",
        "modelled",
        "A launch whose whole state (registers, memory, barriers, whose turn it is) comes back "
        "repeats itself for ever under this schedule: a livelock.  It is looked for in launches "
        "of millions of instructions that read no clock and have at most 64 MiB of memory.",
        "On hardware times vary, and such threads may part; nothing promises it.",
    ),
    Policy(
        "barrier-exited",
        "documented",
        "Threads that have exited no longer count towards a barrier.",
        "PTX ISA, bar.",
    ),
    Policy(
        "precise-errors",
        "modelled",
        "A warp error is precise: the instruction has no effect in any lane, and the program "
        "counter is its own.",
        "Memory errors on hardware can be reported late; precision is what a debugger is for.",
    ),
    Policy(
        "shared-float-order",
        "modelled",
        "Atomics and stores of one instruction take effect in ascending lane order; of two lanes "
        "that store to one address the higher wins.",
        "The PTX ISA leaves the order open. Measured on H100: atomics of a warp return old values "
        "in ascending lane order, floats' too (MAX and MIN of 64 bits in shared memory do not); of "
        "lanes that store up to 32 bits to one address the lowest wins, of 64 (128) bits the "
        "lowest of the last half (quarter) of the warp.",
    ),
    Policy(
        "nan",
        "inferred",
        "A NaN result of f32 is 0x7fffffff and of f16 0x7fff, whatever the operands' NaNs were, in "
        "arithmetic, MUFU, conversions and atomics; .SAT makes it +0. One of f64 is the first NaN "
        "of the operands b, c, a with the quiet bit set, or 0xfff8000000000000 where no operand is "
        "NaN; |x| and -x change a NaN's sign up to sm_62 and leave it from sm_70 on. An f64 atomic "
        "passes a NaN on as it is. A conversion to f64 keeps sign and payload, quieted; one from "
        "f64 does so from sm_70 on, and is canonical before. E4M3's NaN is 0x7f. Minimum and "
        "maximum of a number and a NaN are the number. |x| and -x of f16 and f32 change the sign "
        "bit alone; moves, selects, FCMP and memory change nothing.",
        "CUDA guide and PTX ISA for f32, minimum and maximum; constants that ptxas folds for f64's "
        "own NaN. Order, signs and payloads of f64 NaNs: measured on H100.",
    ),
    Policy(
        "mufu",
        "modelled",
        "MUFU results are correctly rounded, except that EX2 and others flush subnormals.",
        "No public table gives the hardware's last bits; the published maximum errors hold. "
        "Measured on H100 over a binade: 87 % of RCP, 83 % of SQRT, 78 % of RSQ, 61 % of "
        "EX2 have these "
        "very bits, the rest differ in the last (RSQ: in 8 of 16.8 million, in the last two); LG2, "
        "SIN and COS are as good absolutely, not relatively; TANH is x below 2**-8, elsewhere "
        "within 2**-11. Results of f16 and bf16 are cut toward zero: that is in the model.",
    ),
    Policy(
        "rro",
        "inferred",
        "RRO passes its operand on; MUFU.SIN, COS and EX2 compute from it.",
        "The format between the two is internal.",
    ),
    Policy(
        "fchk",
        "modelled",
        "FCHK.DIVIDE asks for the slow path unless both operands and the quotient's exponent are "
        "well inside the normal range.",
        "The exact condition is not public; both paths give the same quotient.",
    ),
    Policy(
        "float-flush",
        "inferred",
        "With .FTZ a product is zero if it is below the least normal number when rounded without "
        "a lower limit of the exponent.",
        "ptxas folds constants so, and its software division tests for exactly that.",
    ),
    Policy(
        "float-condition-code",
        "inferred",
        "With .CC a float result sets Z where it is zero or NaN, S where it is negative or NaN, "
        "and clears C and O.",
        "The flags' public description for the Tesla generation.",
    ),
    Policy(
        "float-to-integer-nan",
        "documented",
        "F2I of a NaN is 0 for an f16 or f32 source and at most 32 bits, else the destination's "
        "highest bit.",
        "PTX ISA 9.0, cvt.",
    ),
    Policy(
        "fmul-scale",
        "modelled",
        "FMUL's .D2 .. .M8 scales the exact product; one rounding follows.",
        "Where the rounding is at the subnormal border is not public.",
    ),
    Policy(
        "half-f32-operand",
        "inferred",
        "An .F32 or constant operand of a packed-half instruction is one f32, used for both "
        "halves; the result is rounded to f32, then to f16.",
        "Public shader translators read it so; compilers do not emit it.",
    ),
    Policy(
        "saturating-difference",
        "inferred",
        "IADD.SAT saturates the exact difference: 0 - (-2^31) is 2^31 - 1.",
        "PTX ISA, sub.sat; the library's __vsubss2 and __vnegss2 stand on it, and ptxas makes "
        "I2I.SAT of a difference from 0. Its folding of constants wraps the negation first.",
    ),
    Policy(
        "lea-predicate",
        "inferred",
        "The predicate of LEA.HI on an address, and of LD/ST, is true outside the shared and "
        "local windows.",
        "The only reading that fits what ptxas does with it.",
    ),
    Policy(
        "shfl-inactive",
        "modelled",
        "SHFL from a lane that does not execute returns what that lane's register holds; from "
        "sm_70 on 0.",
        "The PTX ISA calls the value unpredictable; 0 for inactive and ended lanes: measured on "
        "H100.",
    ),
    Policy(
        "local-memory",
        "inferred",
        "A thread's stack is as large as the file says it needs; a kernel that calls functions "
        "has at least the stack size (1024 bytes unless chosen). It ends at 16 MB in the local "
        "window, as SR_LMEMHIOFF describes it; an access outside it is OOR_ADDR.",
        "Debug code compares R1 with SR_LMEMHIOFF. A driver gives every kernel the stack size; "
        "the smaller range shows more stray accesses.",
    ),
    Policy(
        "stack-overflow",
        "modelled",
        "A local access just below the stack, and a trap with R1 there, is STACK_OVERFLOW.",
        "No warp error of the public table is about the local stack; debuggers name it so.",
    ),
    Policy(
        "stray-global-access",
        "modelled",
        "A global access outside every allocation is MMU_FAULT; beyond the 40-bit (sm_5x) or "
        "49-bit (sm_6x) address space it is OOR_ADDR. Allocations are exact to the byte and lie "
        "1 MB apart.",
        "Hardware maps whole pages, so small overruns go unnoticed there.",
    ),
    Policy(
        "stray-shared-access",
        "modelled",
        "Shared memory ends at the bytes the launch asks for, of a kernel that loads vectors from "
        "it at the next multiple of 16; an access beyond is OOR_ADDR.",
        "Hardware allocates in larger units (128 bytes on sm_90, above 1 KB of the system's); "
        "beyond them it is an illegal address, beyond 16 MB an illegal instruction "
        "(measured on H100).",
    ),
    Policy(
        "cta-order",
        "modelled",
        "CTAs start in ascending order, one per SM in turn while there is room; the next one "
        "takes the place of one that has ended.",
        "The hardware's distribution is not public and depends on timing.",
    ),
    Policy(
        "barrier-arrival",
        "inferred",
        "A warp arrives at a barrier as a whole and counts 32 threads, whichever of its lanes "
        "execute the BAR.",
        "PTX ISA: before sm_70 barriers work on whole warps.",
    ),
    Policy(
        "grid-barrier",
        "modelled",
        "A launch is cooperative when its kernel reads %envreg2, as barriers of the whole grid do, "
        "and all its blocks run at once, for which SMs are added unless their number is given. "
        "It has a workspace of 8 bytes then (its size, the barrier), whose address is %envreg1 and "
        "%envreg2; else they are 0 and the barrier traps.",
        "The workspace is what the CUDA headers (cooperative_groups/details/driver_abi.h) expect; "
        "who launches a kernel says on hardware whether the launch is cooperative.",
    ),
    Policy(
        "lanes-that-poll",
        "modelled",
        "From sm_70 on a warp executes the lanes that stand at the lowest pc until they wait, "
        "split, end or YIELD.  A YIELD while the warp's other lanes all wait ends the warp's turn, "
        "and other warps, of other blocks too, have theirs; lanes at a BSYNC whose partners only "
        "poll go on without them after 16 such times.  Four times round a loop past the YIELD or "
        "NANOSLEEP in it count as a YIELD, 4,096 backward branches of other code while lanes that "
        "could go on wait let these go on.",
        "NVIDIA's patent US 10,067,768 lets a barrier go when its other participants have "
        "yielded; the order and the count are ours. Measured on H100: at a two-way branch the "
        "smaller group of lanes runs first, of equal ones that without the lowest lane, until it "
        "waits; a lock inside a warp is taken in ascending lane order.",
    ),
    Policy(
        "lanes-before-a-barrier",
        "modelled",
        "Lanes in a WARPSYNC behind which stores and a BAR follow in a row go on to the BAR if the "
        "lanes they wait for do nothing but poll (4,096 times), or wait at that BAR.",
        "ptxas places the WARPSYNC of a __syncthreads() before stores of the program, a lock's "
        "release among them: lanes that poll for the lock would never come. The lanes wait at the "
        "BAR all the same. Whether hardware ends here was not seen.",
    ),
    Policy(
        "lanes-between-two-barriers",
        "modelled",
        "When nobody in a warp can go on, lanes at a BSYNC whose partners all stand in a WARPSYNC "
        "go on without them.  A WARPSYNC of lanes that never come is so passed over where its "
        "lanes' partners wait at a BSYNC, instead of ending as a deadlock.",
        "Debug builds (-G) need it: lanes that return early wait at the function's end for others "
        "that meet a WARPSYNC of all lanes on the way.",
    ),
    *TRAP_POLICIES,
    *ASYNC_POLICIES,
    *CHECK_POLICIES,
    *HAZARD_POLICIES,
    Policy(
        "surface-bounds",
        "modelled",
        "A surface access of n bytes is inside when x, in bytes, is from 0 to the row's bytes - n "
        "and the other coordinates are below their size. IGN drops it outside (loads read 0), "
        "NEAR moves every coordinate to its range and rounds x down to a multiple of n, TRAP is "
        "OOR_ADDR. A misaligned x inside is MISALIGNED_ADDR.",
        "The PTX ISA names the clamps; the byte rule and the error's code are not public.",
    ),
    Policy(
        "surface-invalid-header",
        "modelled",
        "A header index above the pool's maximum, a header version that does not exist, and an "
        "unbound reference act as a disabled surface: updates are dropped, loads and fetches "
        "read 0. `info surfaces` lists such accesses.",
        "The public page says so of disabled surfaces only, and calls such headers invalid.",
    ),
    Policy(
        "surface-dimension",
        "modelled",
        "The instruction's dimension counts; coordinates that the header's texture type lacks are "
        "ignored, and those the instruction lacks are 0.",
        "What hardware does when the two differ is not public.",
    ),
    Policy(
        "surface-order",
        "modelled",
        "Reductions of lanes that meet in one texel take effect in ascending lane order; SD32 and "
        "SD64 are signed where the header's data type is SINT; an operation and size that the "
        "SURED table does not pair is ILLEGAL_INSTR_PARAM.",
        "The order is left open; the sign rule is inferred from PTX sured.p.",
    ),
    Policy(
        "surface-formatted-update",
        "modelled",
        "SURED.P and SUATOM.P count x in texels and update texels of 32 bits as .D.SD32 does; ADD "
        "on a FLOAT format adds floats, INC and DEC are unsigned. Other texel sizes are "
        "ILLEGAL_INSTR_PARAM.",
        "The encodings have no size and one data register (two for CAS); no compiler emits them.",
    ),
    Policy(
        "surface-helper-pixels",
        "documented",
        "In a launch with shader_type pixel, lanes outside the coverage mask update no surface; "
        "KIL ends a lane.",
        "SURED, helper and killed pixels. Plain stores of helper pixels are not held back.",
    ),
    Policy(
        "surface-memory-order",
        "inferred",
        "GOBs are stored row by row, as virtual addresses see them; the raw 16Bx2 order of sectors "
        "is a second view that the address calculator and `export` offer.",
        "envytools: the low-level order is hidden by the page kind.",
    ),
    Policy(
        "surface-formats",
        "modelled",
        "SUST.P leaves the components its mask omits as they are; UNORM and SNORM round to "
        "nearest even, small floats cut their mantissa.",
        "The PTX ISA calls missing components unpredictable; rounding is not public.",
    ),
    Policy(
        "texture-filter",
        "modelled",
        "Linear filters have 8 bits of fraction, rounded to nearest; the weighted sum is made in "
        "f64 and rounded once. Integer formats are never filtered.",
        "The CUDA guide gives the 8 bits; where hardware rounds is not public.",
    ),
    Policy(
        "texture-coordinates",
        "modelled",
        "Coordinates are scaled exactly; NaN is 0. TLD outside the texture or its levels reads 0. "
        "Cube faces are filtered without their neighbours.",
        "The precision of hardware coordinates is not public.",
    ),
    Policy(
        "texture-level",
        "modelled",
        "The implicit level is log2 of the longer of the quad's two differences in texels; .LBA "
        "and .LLA act as .LB and .LL; anisotropic filters act as linear ones.",
        "Hardware approximations are not public; a texture without mip levels has level 0 only.",
    ),
    Policy(
        "image-descriptors",
        "inferred",
        "c[0x0][0xb0] and c[0x0][0xc0] hold the addresses of driver tables with a 64-byte record "
        "per header, from which PTX txq and suq read what has no instruction; formats and modes "
        "have the CUDA driver's numbers.",
        "Offsets of the fields are what ptxas emits; the record's size is a relocation.",
    ),
    Policy(
        "bindless-constants",
        "documented",
        "The pair of uniform registers of cx[UR][offset] holds where a bank lies (45 bits, in "
        "sixteens; from sm_90 51 bits, in 64s) and its size in sixteens above that. Beyond the "
        "size is the error of a constant outside its bank.",
        "What the open-source Vulkan driver writes; the error is modelled.",
    ),
    Policy(
        "host-launches",
        "modelled",
        "Under `gpudbg exec` copies and launches run to their end where a host program asks for "
        "them, whatever their stream; events take the host's clock. A fault is what the next call "
        "of the program gets, and every later one. Managed, pinned and registered memory are the "
        "same bytes for host and device at any time.",
        "Any order that streams and events allow is one that a GPU may have; a kernel that waits "
        "for its host, or for a later launch, never ends here.",
    ),
)
"""Every policy, in the order `info policy` prints them."""
