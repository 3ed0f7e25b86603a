"""Which sources decide an instruction's result, by mnemonic: the table that `why` goes by.

Without a row a result comes from what the lane itself has: its registers, predicates and flags, the
constants and memory that the instruction names, uniform registers of the lowest lane that executes
it.  `tests/debug/fuzz_sources.py` changes everything else, and the result stays.
"""

from __future__ import annotations

from typing import Final, Literal

from gpudbg.dataclass import dataclass
from gpudbg.sm import fragments
from gpudbg.sm.asynchronous.events import IN_PIECES

Made = Literal["own", "shuffled", "voted", "lowest", "quad", "matrices", "copied"]
"""From which lanes' registers, or which memory, a result comes:

own: the lane's own; lanes whose stores or atomics made some of the bytes, too.
shuffled: the lane that the index names.
voted: every lane that executes it.
lowest: the lowest lane that executes it; a predicate says whether the lane's own differs.
quad: textures that choose a level by how far apart the coordinates of four lanes are.
matrices: fragments in other lanes, and what descriptors and rows' addresses name.
copied: bytes that a copy beside the threads took along, whichever lane issued it.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is particular to a mnemonic.

    Attributes:
        made: see `Made`.
        lanes: the result says which lanes execute it.
        some: MOV may be for some lanes of each quad; the others keep what they have.
        rest: those predicates are written that a mask says; the others keep what they have.
        like: registers are shown as FLOAT ("float"), or with the type of the result ("result").
        state: what it reads that is no register with a writer of its own.
    """

    made: Made = "own"
    lanes: bool = False
    some: bool = False
    rest: bool = False
    like: str = ""
    state: str = ""


def _rows(words: str, **given: object) -> dict[str, Rule]:
    return dict.fromkeys(words.split(), Rule(**given))  # type: ignore[arg-type]


PLAIN: Final = Rule()
RULES: Final[dict[str, Rule]] = {
    # ---- other lanes
    **_rows("SHFL", made="shuffled", like="result"),
    **_rows("VOTE VOTEU MATCH", made="voted", lanes=True),
    **_rows("REDUX CREDUX", made="voted"),
    **_rows("ELECT", lanes=True),
    **_rows("R2UR", made="lowest"),
    **_rows("TEX TEXS TMML", made="quad"),
    **_rows(" ".join(fragments.MULTIPLIES | fragments.WARPGROUP), made="matrices"),
    **_rows(" ".join(fragments.MOVES), made="matrices"),
    # ---- beside the threads
    **_rows(" ".join(IN_PIECES), made="copied"),
    # ---- a part of what they name
    **_rows("MOV MOV32I", some=True, like="result"),
    **_rows("R2P UR2UP", rest=True),
    # ---- states without a writer
    **_rows("RPCMOV", state="Rpc"),
    **_rows("GETLMEMBASE", state="base of local memory"),
    **_rows("GETCRSPTR", state="stack pointer"),
    **_rows("LEPC ULEPC", state="PC"),
    **_rows("B2R", state="result of the block's BAR.RED"),
    # ---- how their registers are shown
    **_rows("SEL ST STG STS STL RED ATOM ATOMG ATOMS", like="result"),
    **_rows(
        "FADD FADD32I FMUL FMUL32I FFMA FFMA32I FSETP FSET FMNMX FSEL FCMP FCHK MUFU F2I F2F",
        like="float",
    ),
}
LEVELS: Final = ("LZ", "LL", "LLA")
"""Modifiers of textures that say which level is taken: a quad's other lanes do not count."""


def rule_of(op: str) -> Rule:
    """The rule of a mnemonic."""
    return RULES.get(op, PLAIN)
