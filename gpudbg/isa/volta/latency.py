"""When results of sm_70 and later are there, as far as compiled code shows it.

An instruction of fixed latency is waited for by stall counts, one of variable latency through the
scoreboard that it sets.  Which of the two a form is follows from the tables: nvdisasm takes reuse
marks in forms of fixed latency only (inferred; the compilers' barriers agree in every kernel here).

The numbers are the smallest distances between an instruction and a reader of its result in code
that ptxas made for sm_70 to sm_120 (39,000 instructions), where no shorter one occurs: inferred,
and lower bounds.  A check with them gives no false alarm on such code; it may miss a count that is
one or two cycles short of what a certain unit needs.  Public measurements (Jia et al., NAK) give
4 to 6 cycles for arithmetic, 10 to 13 for predicates in guards, 6 to 12 from uniform to vector.
"""

from __future__ import annotations

from functools import cache

from ..operands import Imm, Name
from ..timing import Unit
from .insn import Instruction

UNITS = {
    unit.name: unit
    for unit in (
        Unit("alu", False, 0, "inferred", "forms that take reuse marks"),
        Unit("accumulate", False, 1, "inferred", "IMAD, FFMA and their kin read a cycle later"),
        Unit("async", False, 0, "documented", "WARPGROUP.DEPBAR and mbarriers tell their end"),
        Unit("flow", False, 0, "inferred", "as ALU; predicates 12 cycles before"),
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
    "accumulate": "IMAD FFMA FADD FMUL HFMA2 HADD2 HMUL2",
}
_UNIT_OF = {op: unit for unit, ops in _OPS.items() for op in ops.split()}
_FIXED_UNITS = ("flow", "system", "async")
_FIXED_ON_70 = frozenset("DADD DMUL DFMA DSETP".split())
_TENSOR = frozenset("HMMA IMMA BMMA QMMA OMMA DMMA".split())
TENSOR_EXTRA = 6
"""Beyond a register's latency: tensor results are there in 10 cycles at the earliest (modelled;
compiled code waits for 14 or more)."""
_OUT_OF_ORDER = ("memory", "texture", "surface", "special")
_NEW_TABLES = ("100", "103", "110", "120")
_ONE_QUEUE = ("memory", "shared", "texture", "surface")
_BARRIER_BLOCKING = ("SYNC", "SYNCALL", "RED", "ARV")
LATENCIES = {"R": 4, "P": 4, "UR": 2, "UP": 4}
TESTED = {"P": 12, "UP": 9}
SAFE = {"R": 6, "P": 13, "UR": 12, "UP": 13}


class WideTiming:
    """The rules of sm_70 and later."""

    scoreboard_latency = 1
    plain_stall = 11
    unpaired_unit = ""
    read_before_bar = ("memory",)

    def unit(self, insn: Instruction) -> Unit:
        """Where an instruction executes; variable where its form takes no reuse marks."""
        name = _UNIT_OF.get(insn.op)
        variable = _is_variable(insn)
        if name is None:
            return UNITS["other" if variable else "alu"]
        if UNITS[name].variable and not variable:
            return UNITS["alu"]
        return UNITS[name]

    def accepts_barriers(self, insn: Instruction) -> bool:
        """Yes: nvdisasm takes them in forms of fixed latency, too, and compilers set some."""
        return True

    def is_flow(self, insn: Instruction) -> bool:
        """Whether control may go elsewhere after it."""
        return _UNIT_OF.get(insn.op) == "flow"

    def settles(self, insn: Instruction) -> bool:
        """Barriers and fences."""
        return insn.op == "BAR" or _UNIT_OF.get(insn.op) == "system"

    def tests(self, insn: Instruction) -> bool:
        """Flow instructions test what they read."""
        return self.is_flow(insn)

    def holds_operands(self, insn: Instruction) -> bool:
        """A barrier that blocks has read its operands when the warp goes on."""
        return insn.op == "BAR" and any(m in _BARRIER_BLOCKING for m in insn.m)

    def depbar(self, insn: Instruction) -> tuple[tuple[int, int], ...]:
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

    def extra(self, insn: Instruction) -> int:
        """What tensor instructions take longer, and multiplies and adds less."""
        if insn.op in _TENSOR:
            return TENSOR_EXTRA
        return -1 if _UNIT_OF.get(insn.op) == "accumulate" else 0

    def read_queue(self, insn: Instruction) -> str:
        """Memory, shared memory and what goes with them read their operands in order."""
        name = self.unit(insn).name
        return "memory" if name in _ONE_QUEUE else name

    def in_order(self, insn: Instruction) -> bool:
        """Not loads and moves from outside: compiled code gives each of them a barrier."""
        return self.unit(insn).name not in _OUT_OF_ORDER

    def tracks_results(self, insn: Instruction) -> bool:
        """Not those of asynchronous instructions, B2R and the S2UR of sm_100 and later.

        Compilers for sm_120 set no scoreboard for the last two in places (measured).
        """
        if insn.op == "S2UR":
            return insn.tables not in _NEW_TABLES
        return _UNIT_OF.get(insn.op) != "async" and insn.op != "B2R"

    def latency(self, resource: str, tested: bool) -> int:
        """The smallest distance of compiled code."""
        file = _file(resource)
        return TESTED.get(file, LATENCIES[file]) if tested else LATENCIES[file]

    def safe_latency(self, resource: str, tested: bool) -> int:
        """The upper end of what public measurements give."""
        return SAFE[_file(resource)]


def _file(resource: str) -> str:
    return resource.rstrip("0123456789")


@cache
def _variable_ops() -> frozenset[str]:
    names = (n for n, unit in UNITS.items() if unit.variable)
    return frozenset(op for n in names for op in _OPS.get(n, "").split())


def _is_variable(insn: Instruction) -> bool:
    if insn.tables == "70":
        # Its forms take every value of the reuse bits.
        return insn.op in _variable_ops() and insn.op not in _FIXED_ON_70
    return not insn.form.fixed_latency and _UNIT_OF.get(insn.op) not in _FIXED_UNITS


TIMING = WideTiming()
