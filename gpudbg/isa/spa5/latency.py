"""When results are there and operands have been read: what control words have to respect.

An instruction either takes a fixed number of cycles, and later ones keep their distance by stall
counts, or it takes as long as it takes and says through a scoreboard when it is done.  Which of
the two is a property of the mnemonic (of VMAD: of its operand types), as are the numbers here.

Certainty of each line:

documented  maxas: pipeline depth 6, 13 cycles to a predicate, late operand reads of memory (2 or
            4 cycles) and conversion instructions (4); Mesa's sm_50 compilers use the same.
inferred    which mnemonics own a scoreboard: those where nvdisasm accepts a barrier in the
            control word (it refuses the rest); numbers that maxas lacks: the smallest distance
            in compiled code (sm_50 .. sm_62), where no shorter one occurs.
modelled    our choice where neither shows anything; always the cautious one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..control import SCOREBOARDS
from ..timing import Unit
from .insn import Instruction

REGISTER_LATENCY = 6
"""Cycles from the issue of a fixed-latency instruction to that of a reader of its register."""

PREDICATE_LATENCY = 13
"""The same for a predicate, and for the condition code where it is tested."""

CARRY_LATENCY = 6
"""The same for the condition code where it is read as the carry of `.X`."""

SCOREBOARD_LATENCY = 2
"""Cycles from an instruction that sets a scoreboard to the first that can wait for it."""


_UNITS = (
    Unit("alu", False, 0, "documented", "maxas lat 6; compiled code never goes below"),
    Unit("flow", False, 0, "inferred", "predicates 13 cycles before, as everywhere"),
    Unit("system", False, 0, "modelled", "no result that code waits for"),
    Unit("global", True, 4, "documented", "maxas rlat 4; compiled code reads from 2 cycles on"),
    Unit("shared", True, 2, "documented", "maxas rlat 2; compiled code reads from 4 cycles on"),
    Unit("constant", True, 2, "inferred", "LDC: compiled code reads from 4 cycles on"),
    Unit("sfu", True, 4, "documented", "maxas rlat 4 (MUFU, conversions); FLO, POPC as measured"),
    Unit("double", True, 2, "inferred", "DSETP: compiled code reads from 4 cycles on"),
    Unit("half", True, 0, "inferred", "nvdisasm accepts scoreboards"),
    Unit("multiply", True, 0, "inferred", "32-bit multiplies; compiled code always waits"),
    Unit("texture", True, 4, "inferred", "compiled code reads from 2 cycles on"),
    Unit("surface", True, 4, "inferred", "compiled code reads from 2 cycles on"),
    Unit("special", True, 0, "inferred", "S2R and other moves from outside the register file"),
    Unit("graphics", True, 0, "modelled", "attributes and pixel state; as S2R"),
)  # fmt: skip
UNITS: dict[str, Unit] = {unit.name: unit for unit in _UNITS}

_OPS = {
    "alu": """IADD IADD32I IADD3 ISCADD ISCADD32I XMAD IMNMX BFE BFI SHL SHR SHF PRMT LOP LOP32I
        LOP3 LEA ISETP ISET ICMP SEL MOV MOV32I PSETP PSET CSETP CSET P2R R2P FADD FADD32I FMUL
        FMUL32I FFMA FFMA32I FMNMX FSETP FSET FCMP FCHK FSWZADD RRO VADD VABSDIFF VMNMX VSHL VSHR
        VMAD VSET VSETP VABSDIFF4 IDP CS2R LEPC VOTE""",
    "flow": """BRA BRX JMP JMX CAL JCAL PRET PLONGJMP SSY PBK PCNT PEXIT EXIT LONGJMP RET KIL BRK
        CONT SYNC""",
    "system": "RTT SAM RAM BPT STP NOP DEPBAR MEMBAR IDE",
    "global": "LD ST LDG STG LDL STL ATOM RED CCTL CCTLL CCTLT",
    "shared": "LDS STS ATOMS SHFL",
    "constant": "LDC",
    "sfu": "MUFU F2F F2I I2F I2I FLO POPC",
    "double": "DADD DMUL DFMA DMNMX DSETP DSET",
    "half": "HADD2 HADD2_32I HMUL2 HMUL2_32I HFMA2 HFMA2_32I HSET2 HSETP2",
    "multiply": "IMUL IMUL32I IMAD IMAD32I IMADSP",
    "texture": "TEX TLD TLD4 TXD TMML TXA TXQ TEXS TLDS TLD4S",
    "surface": "SULD SUST SURED SUATOM",
    "special": "S2R B2R R2B BAR GETCRSPTR GETLMEMBASE SETCRSPTR SETLMEMBASE",
    "graphics": "AL2P ALD AST IPA ISBERD OUT PIXLD",
}
UNIT_OF: dict[str, str] = {op: unit for unit, ops in _OPS.items() for op in ops.split()}
"""Mnemonic -> unit; VMAD with a 32-bit operand executes in `multiply` instead."""

BARRIER_OPS = frozenset(
    op for op, unit in UNIT_OF.items() if UNITS[unit].variable or op in ("MEMBAR", "IDE")
)
"""Mnemonics whose control word may name a write or a read barrier."""

READ_BEFORE_BAR = "shared"
"""The unit that has read its operands when a BAR issues after it (inferred: compiled code
overwrites the data register of an STS without a read barrier only with a BAR in between)."""

UNPAIRED_UNIT = "alu"
"""The unit that a dual-issue pair cannot use twice (inferred: no pair of compiled code does; pairs
of conversions or of double precision instructions occur)."""

BLOCKING_BARRIERS = ("SYNC", "RED")
"""BAR modes that have read their register operands when the warp goes on (inferred: compiled code
overwrites them without a read barrier)."""

WORD_TYPES = ("U32", "S32")


@lru_cache(maxsize=1 << 14)
def unit(insn: Instruction) -> Unit:
    """Where an instruction executes.

    Raises:
        KeyError: a mnemonic that the table lacks (a test asserts that there is none).
    """
    if insn.op == "VMAD" and (insn.m["atype"] in WORD_TYPES or insn.m["btype"] in WORD_TYPES):
        return UNITS["multiply"]
    return UNITS[UNIT_OF[insn.op]]


def accepts_barriers(insn: Instruction) -> bool:
    """Whether the control word may name a write or read barrier; nvdisasm refuses it elsewhere."""
    return unit(insn).variable or insn.op in BARRIER_OPS


def latency(resource: str, tested: bool) -> int:
    """Cycles to a reader of a fixed-latency result.

    Args:
        resource: its name: "R4", "P0", "CC".
        tested: the reader tests the condition code rather than adding its carry.
    """
    if resource[0] == "R":
        return REGISTER_LATENCY
    return CARRY_LATENCY if resource == "CC" and not tested else PREDICATE_LATENCY


_TESTS = "test"
SETTLING = frozenset("BAR MEMBAR CCTL CCTLL CCTLT BPT DEPBAR".split())


class NarrowTiming:
    """The rules of sm_50 to sm_62."""

    scoreboard_latency = SCOREBOARD_LATENCY
    plain_stall = 15
    unpaired_unit = UNPAIRED_UNIT
    read_before_bar = (READ_BEFORE_BAR,)

    def unit(self, insn: Instruction) -> Unit:
        """Where an instruction executes."""
        return unit(insn)

    def accepts_barriers(self, insn: Instruction) -> bool:
        """Whether the control word may name a barrier."""
        return accepts_barriers(insn)

    def takes_no_control(self, insn: Instruction) -> bool:
        """No: all take a stall count."""
        return False

    def is_flow(self, insn: Instruction) -> bool:
        """Whether control may go elsewhere after it."""
        return UNIT_OF[insn.op] == "flow"

    def settles(self, insn: Instruction) -> bool:
        """Barriers, fences and cache control."""
        return insn.op in SETTLING

    def holds_operands(self, insn: Instruction) -> bool:
        """A barrier that blocks."""
        return insn.op == "BAR" and insn.m["mode"] in BLOCKING_BARRIERS

    def depbar(self, insn: Instruction) -> tuple[tuple[int, int], ...]:
        """(scoreboard, how many may still be in flight) of DEPBAR."""
        if insn.op != "DEPBAR":
            return ()
        mask = insn.word & 0x3F
        out = [(b, 0) for b in range(SCOREBOARDS) if mask >> b & 1]
        if insn.word >> 29 & 1:
            out.append((insn.word >> 26 & 7, insn.word >> 20 & 0x3F))
        return tuple(out)

    def read_queue(self, insn: Instruction) -> str:
        """Its unit."""
        return unit(insn).name

    def in_order(self, insn: Instruction) -> bool:
        """Always."""
        return True

    def tracks_results(self, insn: Instruction) -> bool:
        """Always."""
        return True

    def result(self, insn: Instruction, resource: str) -> Mapping[str, int]:
        """Cycles to readers that test it, and to others."""
        return {_TESTS: latency(resource, True), "": latency(resource, False)}

    def reader(self, insn: Instruction, resource: str, guard: bool) -> str:
        """CSET, CSETP, flow instructions and guards test; other readers do not."""
        return _TESTS if guard or insn.op in ("CSETP", "CSET") or self.is_flow(insn) else ""

    def safe_latency(self, cycles: Mapping[str, int], resource: str, reader: str) -> int:
        """The same."""
        return cycles[reader]


TIMING = NarrowTiming()
