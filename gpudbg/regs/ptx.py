"""PTX special registers: type, version, targets, limits, and what ptxas makes of each.

Sources: the PTX ISA's chapter on special registers; the lowering is measured (ptxas 12.6 on one
probe per register and target, sm_50 to sm_62).  A lowering is a recipe an evaluator can follow
and a line of text; the instruction sequences themselves are test data.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum

from gpudbg.bits import Field
from gpudbg.regs.special import SPECIAL_REGISTERS, parse_spa
from gpudbg.regs.words import Certainty


class Source(StrEnum):
    """Where ptxas takes a PTX register's value from."""

    S2R = "S2R"
    CS2R = "CS2R"
    CONSTANT = "constant bank 0"
    IMMEDIATE = "immediate"


@dataclass(frozen=True, slots=True)
class Lowering:
    """What one PTX register becomes on some targets.

    Attributes:
        since: first architecture version it holds for, e.g. (5, 0).
        source: kind of read.
        registers: SR numbers read, least significant word first.
        bits: the field taken from the word; None for the whole word(s).
        offset: byte offset in constant bank 0 of the first word.
        words: 32-bit words of the value.
        value: the immediate.
        note: what the sequence does beyond the read.
    """

    since: tuple[int, int]
    source: Source
    registers: tuple[int, ...] = ()
    bits: Field | None = None
    offset: int | None = None
    words: int = 1
    value: int | None = None
    note: str = ""

    def text(self) -> str:
        """The recipe as one line."""
        if self.source is Source.IMMEDIATE:
            body = f"the constant {self.value}"
        elif self.source is Source.CONSTANT:
            assert self.offset is not None
            body = " ".join(f"c[0x0][{self.offset + 4 * i:#x}]" for i in range(self.words))
        else:
            names = [SPECIAL_REGISTERS[n].disassembler_name() for n in reversed(self.registers)]
            body = f"{self.source} " + " and ".join(names)
            if self.bits is not None:
                body += f" bits {self.bits.hi}:{self.bits.lo}"
        return f"{body}; {self.note}" if self.note else body


@dataclass(frozen=True, slots=True)
class PtxRegister:
    """One PTX special register or vector component.

    Attributes:
        name: with the percent sign, e.g. `%tid.x`.
        type: PTX type, e.g. `u32`.
        width: bits of the value.
        isa: PTX ISA version that introduced it.
        target: minimum target, `""` for every target.
        meaning: one line.
        lowerings: by first architecture, ascending; empty when no target here accepts it.
        history: type changes over PTX versions.
        limits: (targets, limit) pairs.
        certainty: documented unless the PTX text at hand does not have it.
    """

    name: str
    type: str
    width: int
    isa: str
    target: str
    meaning: str
    lowerings: tuple[Lowering, ...]
    history: str = ""
    limits: tuple[tuple[str, str], ...] = ()
    certainty: Certainty = Certainty.DOCUMENTED

    def lowering(self, arch: str = "sm_50") -> Lowering | None:
        """The recipe on `arch` (sm_50 ... sm_62); None when ptxas refuses the register."""
        version = parse_spa(arch)
        fitting = [low for low in self.lowerings if version >= low.since]
        return fitting[-1] if fitting else None


_SM50, _SM60, _SM61 = (5, 0), (6, 0), (6, 1)
_LANEID, _VIRTCFG, _VIRTID, _PM, _PM_HI = 0, 2, 3, 4, 72
_TID, _CTAID, _SMEMSZ, _CLOCK, _GLOBALTIMER = 33, 37, 50, 80, 82
_MASKS = {"eq": 56, "lt": 57, "le": 58, "gt": 59, "ge": 60}
_RELATION = {"eq": "equal to", "lt": "below", "le": "up to", "gt": "above", "ge": "from"}

_V4_HISTORY = "PTX 1.0: .v4.u16; since 2.0 .v4.u32, 16-bit reads take the low half"
_GRIDID_HISTORY = "PTX 1.0: .u16; 1.3: .u32; 3.0: .u64"
_FOLD = (
    "c[0x0][0x108] non-zero selects a variant that folds pairs of hardware SM numbers "
    "(inferred from the code); with 0 the plain field"
)
_REREAD = "the high word is read first, and again when the low word's sign bit is clear"
_RETRY = "repeated until two reads of the high word agree, at most c[0x0][0x10c] times"
_TWICE = "read twice, first into RZ"
_NTID_LIMITS = (
    ("sm_1x", "512, 512, 64 (x, y, z)"),
    ("sm_20 sm_3x sm_5x sm_6x", "1024, 1024, 64"),
)
_NCTAID_LIMITS = (
    ("sm_1x sm_20", "65535, 65535, 65535 (x, y, z)"),
    ("sm_3x sm_5x sm_6x", "2^31-1, 65535, 65535"),
)
_GRIDID_LIMITS = (("sm_1x", "0 .. 2^16-1"), ("sm_20", "0 .. 2^32-1"), ("sm_30", "64 bits"))
_SMEM_UNITS = (("sm_2x", "multiple of 128 bytes"), ("sm_3x sm_5x sm_6x", "multiple of 256 bytes"))


def _s2r(number: int, bits: Field | None = None) -> tuple[Lowering, ...]:
    return (Lowering(_SM50, Source.S2R, (number,), bits),)


def _constant(offset: int, words: int = 1) -> tuple[Lowering, ...]:
    return (Lowering(_SM50, Source.CONSTANT, offset=offset, words=words),)


def _immediate(value: int) -> tuple[Lowering, ...]:
    return (Lowering(_SM50, Source.IMMEDIATE, value=value),)


def _cs2r(number: int, twice_on_sm60: bool) -> tuple[Lowering, ...]:
    plain = Lowering(_SM50, Source.CS2R, (number,))
    if not twice_on_sm60:
        return (plain,)
    return (
        plain,
        Lowering(_SM60, Source.CS2R, (number,), note=_TWICE),
        Lowering(_SM61, Source.CS2R, (number,)),
    )


def _cs2r_pair(low: int, high: int, loops_on_sm60: bool) -> tuple[Lowering, ...]:
    pair = Lowering(_SM50, Source.CS2R, (low, high), words=2, note=_REREAD)
    if not loops_on_sm60:
        return (pair,)
    return (
        pair,
        Lowering(_SM60, Source.CS2R, (low, high), words=2, note=f"{_RETRY}; {_TWICE}"),
        Lowering(_SM61, Source.CS2R, (low, high), words=2, note=_RETRY),
    )


def _folded(number: int, bits: Field, before: Field | None = None) -> tuple[Lowering, ...]:
    return (
        Lowering(_SM50, Source.S2R, (number,), before or bits),
        Lowering(_SM60, Source.S2R, (number,), bits, note=_FOLD),
        Lowering(_SM61, Source.S2R, (number,), bits),
    )


def _u32(
    name: str,
    isa: str,
    target: str,
    meaning: str,
    lowerings: tuple[Lowering, ...],
    history: str = "",
    limits: tuple[tuple[str, str], ...] = (),
) -> PtxRegister:
    return PtxRegister(f"%{name}", "u32", 32, isa, target, meaning, lowerings, history, limits)


def _u64(
    name: str,
    isa: str,
    target: str,
    meaning: str,
    lowerings: tuple[Lowering, ...],
    history: str = "",
    limits: tuple[tuple[str, str], ...] = (),
) -> PtxRegister:
    return PtxRegister(f"%{name}", "u64", 64, isa, target, meaning, lowerings, history, limits)


def _vector(
    name: str,
    meaning: str,
    components: tuple[tuple[Lowering, ...], ...],
    limits: tuple[tuple[str, str], ...] = (),
) -> tuple[PtxRegister, ...]:
    """x, y, z from `components`; w always zero."""
    parts = zip("xyzw", (*components, _immediate(0)), strict=True)
    return tuple(
        _u32(
            f"{name}.{c}",
            "1.0",
            "",
            "unused, always 0" if c == "w" else f"{meaning}, {c}",
            lowering,
            _V4_HISTORY,
            limits,
        )
        for c, lowering in parts
    )


def _indices() -> tuple[PtxRegister, ...]:
    warp_50, warp_60, sm = Field(13, 8), Field(14, 8), Field(28, 20)
    return (
        *_vector("tid", "thread index in the CTA", tuple(_s2r(_TID + i) for i in range(3))),
        *_vector(
            "ntid",
            "threads per CTA",
            tuple(_constant(0x8 + 4 * i) for i in range(3)),
            _NTID_LIMITS,
        ),
        *_vector("ctaid", "CTA index in the grid", tuple(_s2r(_CTAID + i) for i in range(3))),
        *_vector(
            "nctaid",
            "CTAs per grid",
            tuple(_constant(0x14 + 4 * i) for i in range(3)),
            _NCTAID_LIMITS,
        ),
        _u32("laneid", "1.3", "", "lane within the warp", _s2r(_LANEID)),
        _u32(
            "warpid",
            "1.3",
            "",
            "warp slot; may change while the thread runs",
            _folded(_VIRTID, warp_60, warp_50),
        ),
        _u32("nwarpid", "2.0", "sm_20", "number of warp slots per SM", _immediate(64)),
        _u32(
            "smid",
            "1.3",
            "",
            "SM number; not contiguous, may change while the thread runs",
            _folded(_VIRTID, sm),
        ),
        _u32("nsmid", "2.0", "sm_20", "number of SM numbers", _folded(_VIRTCFG, sm)),
        _u64(
            "gridid",
            "1.0",
            "",
            "number of this launch in its context",
            _constant(0x28, 2),
            _GRIDID_HISTORY,
            _GRIDID_LIMITS,
        ),
        *(
            _u32(f"lanemask_{k}", "2.0", "sm_20", f"lanes {_RELATION[k]} the own one", _s2r(n))
            for k, n in _MASKS.items()
        ),
    )


def _clocks_and_counters() -> tuple[PtxRegister, ...]:
    low, high = _CLOCK, _CLOCK + 1
    glow, ghigh = _GLOBALTIMER, _GLOBALTIMER + 1
    return (
        _u32("clock", "1.0", "", "cycle counter, low word", _cs2r(low, True)),
        _u32("clock_hi", "5.0", "sm_20", "cycle counter, high word", _cs2r(high, True)),
        _u64("clock64", "2.0", "sm_20", "cycle counter", _cs2r_pair(low, high, True)),
        *(
            _u32(
                f"pm{i}",
                "1.3" if i < 4 else "3.0",
                "" if i < 4 else "sm_20",
                f"performance counter {i}, low word",
                _cs2r(_PM + i, False),
            )
            for i in range(8)
        ),
        *(
            _u64(
                f"pm{i}_64",
                "4.0",
                "sm_50",
                f"performance counter {i}; the high part saturates at 8 bits",
                _cs2r_pair(_PM + i, _PM_HI + i, False),
            )
            for i in range(8)
        ),
        _u64("globaltimer", "3.1", "sm_30", "global timer in ns", _cs2r_pair(glow, ghigh, True)),
        _u32("globaltimer_lo", "3.1", "sm_30", "global timer, low word", _cs2r(glow, True)),
        _u32("globaltimer_hi", "3.1", "sm_30", "global timer, high word", _cs2r(ghigh, True)),
    )


def _launch() -> tuple[PtxRegister, ...]:
    return (
        *(
            PtxRegister(
                f"%envreg{i}",
                "b32",
                32,
                "2.1",
                "",
                f"driver-defined launch word {i}",
                _constant(0x30 + 4 * i),
            )
            for i in range(32)
        ),
        _u32(
            "total_smem_size",
            "4.1",
            "sm_20",
            "shared memory of the CTA, static and dynamic, in allocation units",
            _s2r(_SMEMSZ),
            limits=_SMEM_UNITS,
        ),
        _u32(
            "dynamic_smem_size",
            "4.1",
            "sm_20",
            "shared memory given at launch",
            _constant(0xFC),
        ),
        PtxRegister(
            "%current_graph_exec",
            "u64",
            64,
            "8.0",
            "sm_50",
            "graph being executed; 0 outside a graph",
            (
                Lowering(_SM50, Source.CONSTANT, offset=0x100, words=2),
                Lowering(_SM60, Source.CONSTANT, offset=0x118, words=2),
            ),
            certainty=Certainty.INFERRED,
        ),
    )


_LATER_TARGETS = (
    ("sm_80", "reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap"),
    ("sm_80", "reserved_smem_offset_0 reserved_smem_offset_1"),
    ("sm_90", "aggr_smem_size is_explicit_cluster cluster_ctarank cluster_nctarank"),
    ("sm_90", "clusterid nclusterid cluster_ctaid cluster_nctaid"),
)
LATER_REGISTERS: dict[str, str] = {
    f"%{name}": target for target, names in _LATER_TARGETS for name in names.split()
}
"""Registers ptxas refuses on every target here, with the target it asks for."""

PTX_REGISTERS: tuple[PtxRegister, ...] = (*_indices(), *_clocks_and_counters(), *_launch())
_BY_NAME = {row.name: row for row in PTX_REGISTERS}


def find_ptx(name: str) -> PtxRegister | None:
    """The register of a name, percent sign optional, any case."""
    text = name.strip().lower()
    return _BY_NAME.get(text if text.startswith("%") else "%" + text)


def find_ptx_vector(name: str) -> tuple[PtxRegister, ...]:
    """The components of a vector such as `%tid`; empty for other names."""
    prefix = "%" + name.strip().lower().removeprefix("%") + "."
    return tuple(row for row in PTX_REGISTERS if row.name.startswith(prefix))


def nearest_ptx(name: str, count: int = 3) -> tuple[str, ...]:
    """Register names that look like `name`, best first."""
    wanted = "%" + name.strip().lower().removeprefix("%")
    return tuple(difflib.get_close_matches(wanted, _BY_NAME, n=count, cutoff=0.5))
