"""Units and scoreboards of sm_70 and later, as far as compiled code shows them.

An instruction of fixed latency is waited for by stall counts (`result_latency`), one of variable
latency through the scoreboard that it sets.  Which of the two a form is follows from the tables:
nvdisasm takes reuse marks in forms of fixed latency only (inferred; the compilers' barriers agree
in every kernel here).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..operands import Imm, Name
from ..timing import Unit
from .insn import WideInstruction
from .result_latency import file_of, reader_class, result_cycles

UNITS = {
    unit.name: unit
    for unit in (
        Unit("alu", False, 0, "inferred", "forms that take reuse marks"),
        Unit("async", False, 0, "documented", "WARPGROUP.DEPBAR and mbarriers tell their end"),
        Unit("flow", False, 0, "inferred", "as ALU; it tests predicates as guards are tested"),
        Unit("system", False, 0, "modelled", "no result that code waits for"),
        Unit("memory", True, 0, "inferred", "sets scoreboards in compiled code"),
        Unit("shared", True, 0, "inferred", "SHFL and shared memory share a queue"),
        Unit("convert", True, 0, "inferred", "MUFU, conversions, POPC, FLO, BREV"),
        Unit("double", True, 0, "inferred", "where the form takes no reuse marks"),
        Unit("texture", True, 0, "inferred", "sets scoreboards in compiled code"),
        Unit("surface", True, 0, "inferred", "sets scoreboards in compiled code"),
        Unit("special", True, 0, "inferred", "S2R and other moves from outside the register file"),
        Unit("reduce", True, 0, "inferred", "a later REDUX covers those before it"),
        Unit("other", True, 0, "modelled", "any other form without reuse marks"),
    )
}
_OPS = {
    "flow": """BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BREAK BSSY BSYNC WARPSYNC YIELD
        NANOSLEEP BPT RTT RPCMOV ENDCOLLECTIVE""",
    "system": "NOP DEPBAR PMTRIG MEMBAR ERRBAR FENCE CGAERRBAR PREEXIT UCGABAR_ARV UCGABAR_WAIT",
    "memory": """LD ST LDG STG LDL STL ATOM ATOMG RED REDG REDAS CCTL CCTLL CCTLT LDGSTS LDGDEPBAR
        ARRIVES LDGMC""",
    "shared": "LDS STS ATOMS SHFL LDSM STSM STAS MOVM SYNCS",
    "convert": "MUFU F2F F2I I2F I2I FRND POPC FLO BREV",
    "double": "DADD DMUL DFMA DSETP DMMA",
    "texture": "TEX TLD TLD4 TXD TMML TXQ FOOTPRINT",
    "surface": "SULD SUST SURED SUATOM SUQUERY",
    "special": "S2R S2UR B2R R2B BAR BMOV MATCH QSPC FCHK LDC LDCU R2UR VOTEU AL2P",
    "reduce": "REDUX CREDUX",
    "async": """HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCCP UTCSHIFT UTCBAR UBLKCP
        UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF""",
}
_UNIT_OF = {op: unit for unit, ops in _OPS.items() for op in ops.split()}
_FIXED_UNITS = ("flow", "system", "async")
_DOUBLE = frozenset("DADD DMUL DFMA DSETP".split())
_SCOREBOARDED = {
    "75": _DOUBLE | frozenset("HMMA IMMA BMMA".split()), "80": _DOUBLE, "86": _DOUBLE, "89": _DOUBLE
}  # fmt: skip
"""Forms with reuse marks that set scoreboards all the same (compiled code; Mesa's compiler)."""
_OUT_OF_ORDER = ("memory", "texture", "surface", "special")
_NEW_TABLES = ("100", "103", "110", "120")
_ADDRESSING = ("memory", "shared")
_ONE_QUEUE = ("memory", "shared", "texture", "surface")
_BARRIER_BLOCKING = ("SYNC", "SYNCALL", "RED", "ARV")
SAFE = {"R": 8, "P": 15, "UR": 14, "UP": 14}
"""What the assembler's scheduler keeps at least.  An H100 needs (measured,
`tests/silicon/data/h100_latencies.json`) 8 cycles after DFMA, 7 before the operand of a tensor
product, 14 from DSETP to a guard, 10 from R2UR to a vector register."""
_LONG = 10
"""Results that take longer are those of tensor instructions, which differ most between chips."""


class WideTiming:
    """The rules of sm_70 and later."""

    scoreboard_latency = 2
    plain_stall = 11
    unpaired_unit = ""
    read_before_bar = ("memory",)

    def unit(self, insn: WideInstruction) -> Unit:
        """Where an instruction executes; variable where its form takes no reuse marks."""
        name = _UNIT_OF.get(insn.op)
        variable = _is_variable(insn)
        if name is None:
            return UNITS["other" if variable else "alu"]
        if UNITS[name].variable and not variable:
            return UNITS["alu"]
        return UNITS[name]

    def accepts_barriers(self, insn: WideInstruction) -> bool:
        """Yes: nvdisasm takes them in forms of fixed latency, too, and compilers set some."""
        return True

    def takes_no_control(self, insn: WideInstruction) -> bool:
        """RTT and BPT.DRAIN from sm_80 on."""
        return insn.form.unscheduled

    def is_flow(self, insn: WideInstruction) -> bool:
        """Whether control may go elsewhere after it."""
        return _UNIT_OF.get(insn.op) == "flow"

    def settles(self, insn: WideInstruction) -> bool:
        """Barriers and fences."""
        return insn.op == "BAR" or _UNIT_OF.get(insn.op) == "system"

    def tests(self, insn: WideInstruction) -> bool:
        """Flow instructions test what they read."""
        return self.is_flow(insn)

    def holds_operands(self, insn: WideInstruction) -> bool:
        """A barrier that blocks has read its operands when the warp goes on."""
        return insn.op == "BAR" and any(m in _BARRIER_BLOCKING for m in insn.m)

    def depbar(self, insn: WideInstruction) -> tuple[tuple[int, int], ...]:
        """`DEPBAR.LE SBn, k`, and the set of scoreboards beside it."""
        if insn.op != "DEPBAR":
            return ()
        out = []
        for operand in insn.operands:
            if isinstance(operand, Name) and operand.text.startswith("SB"):
                out.append((operand.value, 0))
            elif isinstance(operand, Imm) and out:
                out[-1] = (out[-1][0], operand.value)
        return tuple(out)

    def read_queue(self, insn: WideInstruction) -> str:
        """Memory, shared memory and what goes with them read their operands in order."""
        name = self.unit(insn).name
        return "memory" if name in _ONE_QUEUE else name

    def in_order(self, insn: WideInstruction) -> bool:
        """Not loads and moves from outside: compiled code gives each of them a barrier."""
        return self.unit(insn).name not in _OUT_OF_ORDER

    def tracks_results(self, insn: WideInstruction) -> bool:
        """Not those of asynchronous instructions, B2R and the S2UR of sm_100 and later.

        Compilers for sm_120 set no scoreboard for the last two in places (measured).
        """
        if insn.op == "S2UR":
            return insn.tables not in _NEW_TABLES
        return _UNIT_OF.get(insn.op) != "async" and insn.op != "B2R"

    def result(self, insn: WideInstruction, resource: str) -> Mapping[str, int]:
        """Cycles to each class of readers."""
        return result_cycles(insn, resource)

    def reader(self, insn: WideInstruction, resource: str, guard: bool) -> str:
        """Its class as a reader."""
        unit = self.unit(insn)
        kind = unit.name if unit.name == "flow" else ""
        if unit.variable:
            early = unit.name in _ADDRESSING and insn.op != "SYNCS"
            kind = "memory" if early else "slow"
        return reader_class(insn, resource, kind, guard)

    def safe_latency(self, cycles: Mapping[str, int], resource: str, reader: str) -> int:
        """Above what any reader has to wait."""
        longest = max(cycles.values(), default=0)
        least = 2 * longest if longest > _LONG and file_of(resource) == "R" else longest
        return max(least + 1, SAFE[file_of(resource)])


@cache
def _variable_ops() -> frozenset[str]:
    names = (n for n, unit in UNITS.items() if unit.variable)
    return frozenset(op for n in names for op in _OPS.get(n, "").split())


def _is_variable(insn: WideInstruction) -> bool:
    if insn.tables == "70":
        # Its forms take every value of the reuse bits.
        return insn.op in _variable_ops() and insn.op not in _DOUBLE
    if insn.op in _SCOREBOARDED.get(insn.tables, ()):
        return True
    return not insn.form.fixed_latency and _UNIT_OF.get(insn.op) not in _FIXED_UNITS


TIMING = WideTiming()
