"""The SM's debugger port: registers a driver uses, where they lie, and what their bits mean.

Sources: nvgpu hardware headers (gk20a, gm20b, gp10b, gv11b, tu104, ga10b), rnndb, nouveau; the
third address layout is inferred from some forty log lines that print both text and address.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntFlag

from gpudbg.dataclass import dataclass
from gpudbg.regs.esr import ESR_WORDS
from gpudbg.regs.register_words import WORDS
from gpudbg.regs.table_reader import TableLine, blocks, field_rows
from gpudbg.regs.words import Certainty, Family, RegisterWord


class DbgrControl0(IntFlag):
    """Bits of DBGR_CONTROL0; unnamed bits are kept."""

    DEBUGGER_MODE = 1 << 0
    STOP_ON_ANY_WARP = 1 << 1
    STOP_ON_ANY_SM = 1 << 2
    SINGLE_STEP_MODE = 1 << 3
    RUN_TRIGGER = 1 << 30
    STOP_TRIGGER = 1 << 31


class DbgrStatus0(IntFlag):
    """Bits of DBGR_STATUS0; unnamed bits are kept."""

    SM_IN_TRAP_MODE = 1 << 0
    LOCKED_DOWN = 1 << 4


class TpcException(IntFlag):
    """Bits of TPC_EXCEPTION and TPC_EXCEPTION_EN; unnamed bits are kept."""

    TEX = 1 << 0
    SM = 1 << 1
    PE = 1 << 2
    MPC = 1 << 4


PORT_WORDS: tuple[RegisterWord, ...] = tuple(w for w in WORDS.values() if w not in ESR_WORDS)

ALL_WORDS: tuple[RegisterWord, ...] = (*ESR_WORDS, *PORT_WORDS)
_WORD_BY_NAME = {n.upper(): word for word in ALL_WORDS for n in (word.name, *word.aliases)}


def find_word(name: str) -> RegisterWord | None:
    """The register word of a name or alias, any case; hyphens count as underscores."""
    return _WORD_BY_NAME.get(name.strip().upper().replace("-", "_"))


def word_names() -> tuple[str, ...]:
    """Every accepted register name, upper case."""
    return tuple(_WORD_BY_NAME)


# --- addresses -------------------------------------------------------------------------------

UNICAST_BASE = 0x500000
_TABLE = {" ".join(block.head.words): block.body for block in blocks("port")}


def _offsets(name: str) -> dict[int, str]:
    return {int(line.words[0], 16): line.words[1] for line in _TABLE[name]}


def _number(line: TableLine, option: str) -> int:
    return int(line.options[option], 16)


_ONE_SM_OFFSETS, _TWO_SM_OFFSETS = _offsets("offsets one"), _offsets("offsets two")
_SM_BLOCK, _SM_BROADCAST, _SM_STRIDE, _SMS_PER_TPC = 0x700, 0x680, 0x80, 2
_SM_REGISTERS = 0x600
"""What lies below belongs to the TPC, in all layouts."""
_TPC_REGISTERS = {name for offset, name in _ONE_SM_OFFSETS.items() if offset < _SM_REGISTERS}


@dataclass(frozen=True, slots=True)
class PortAddressLayout:
    """How one range of chip generations places its SM registers.

    Attributes:
        name: how results name the layout.
        families: chips that use it.
        gpc_stride: bytes from GPC to GPC.
        tpc_base: offset of TPC 0 in a GPC.
        tpc_stride: bytes from TPC to TPC.
        gpcs: GPC numbers at or above this exist on no chip of the families.
        two_sms: the TPC holds an SM block per SM instead of one SM's registers.
        certainty: documented by headers, or inferred from log lines.
    """

    name: str
    families: tuple[Family, ...]
    gpc_stride: int
    tpc_base: int
    tpc_stride: int
    gpcs: int
    two_sms: bool
    certainty: Certainty

    @property
    def tpcs(self) -> int:
        """TPC slots a GPC has room for."""
        return (self.gpc_stride - self.tpc_base) // self.tpc_stride


LAYOUTS: tuple[PortAddressLayout, ...] = tuple(
    PortAddressLayout(
        line.words[0],
        line.families,
        _number(line, "gpc_stride"),
        _number(line, "tpc_base"),
        _number(line, "tpc_stride"),
        _number(line, "gpcs"),
        "two_sms" in line.words,
        line.certainty,
    )
    for line in _TABLE["layouts"]
)


@dataclass(frozen=True, slots=True)
class SmRegister:
    """One register of one SM.

    Attributes:
        layout: address layout assumed.
        gpc: GPC number.
        tpc: TPC number in the GPC.
        sm: SM in the TPC; None where a TPC has one SM, or when all its SMs are addressed.
        register: name of the register word.
    """

    layout: PortAddressLayout
    gpc: int
    tpc: int
    sm: int | None
    register: str

    def address(self) -> int:
        """The register's address.

        Raises:
            ValueError: the layout has no such register or place.
        """
        layout = self.layout
        of_tpc = self.register in _TPC_REGISTERS
        offsets = _TWO_SM_OFFSETS if layout.two_sms and not of_tpc else _ONE_SM_OFFSETS
        offset = next((o for o, name in offsets.items() if name == self.register), None)
        if offset is None or not (0 <= self.gpc < layout.gpcs and 0 <= self.tpc < layout.tpcs):
            raise ValueError(f"{layout.name} has no {self.register} at {self.gpc}/{self.tpc}")
        if layout.two_sms and not of_tpc:
            block = _SM_BROADCAST if self.sm is None else _SM_BLOCK + self.sm * _SM_STRIDE
            offset += block
        return (
            UNICAST_BASE
            + self.gpc * layout.gpc_stride
            + layout.tpc_base
            + self.tpc * layout.tpc_stride
            + offset
        )

    def place(self) -> str:
        """ "GPC 0, TPC 1" or "GPC 0, TPC 1, SM 0"."""
        text = f"GPC {self.gpc}, TPC {self.tpc}"
        return text if self.sm is None else f"{text}, SM {self.sm}"


def _register_at(layout: PortAddressLayout, offset: int) -> tuple[int | None, str] | None:
    """(SM number, register name) of an offset within a TPC."""
    name = _ONE_SM_OFFSETS.get(offset)
    if not layout.two_sms or (name is not None and offset < _SM_REGISTERS):
        return (None, name) if name else None
    if _SM_BROADCAST <= offset < _SM_BLOCK:
        name = _TWO_SM_OFFSETS.get(offset - _SM_BROADCAST)
        return (None, name) if name else None
    sm, inner = divmod(offset - _SM_BLOCK, _SM_STRIDE)
    name = _TWO_SM_OFFSETS.get(inner)
    return (sm, name) if name and 0 <= sm < _SMS_PER_TPC else None


def locate(layout: PortAddressLayout, address: int) -> SmRegister | None:
    """The SM register at `address` under one layout."""
    gpc, rest = divmod(address - UNICAST_BASE, layout.gpc_stride)
    if not 0 <= gpc < layout.gpcs or rest < layout.tpc_base:
        return None
    tpc, offset = divmod(rest - layout.tpc_base, layout.tpc_stride)
    found = _register_at(layout, offset)
    return SmRegister(layout, gpc, tpc, *found) if found else None


def locate_all(address: int) -> tuple[SmRegister, ...]:
    """Every reading of `address` as an SM register, oldest layout first; empty for other units."""
    places = (locate(layout, address) for layout in LAYOUTS)
    return tuple(place for place in places if place is not None)


_BROADCAST_TPC = 0x419800


def locate_broadcast(address: int) -> str | None:
    """The SM register a broadcast address writes on every SM (one- or two-SM TPCs)."""
    offset = address - _BROADCAST_TPC
    if offset < 0:
        return None
    two = _TWO_SM_OFFSETS.get(offset - _SM_BROADCAST)
    return _ONE_SM_OFFSETS.get(offset) or two


# --- other units that print in the same log lines --------------------------------------------

OTHER_UNITS: tuple[tuple[int, int, str], ...] = tuple(
    (int(line.words[0], 16), int(line.words[1], 16), line.text()) for line in _TABLE["units"]
)
FE_ESR = field_rows(_TABLE["FE_ESR"])
FE_ESR_ADDRESS = 0x404000


def other_unit(address: int) -> str | None:
    """What a non-SM graphics address belongs to, as far as public manuals say."""
    return next((text for low, high, text in OTHER_UNITS if low <= address <= high), None)


# --- report masks as fingerprints ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportMasks:
    """A pair of report masks some driver writes on some chips.

    Attributes:
        who: driver.
        chips: which chips, in words.
        warp: HWW_WARP_ESR_REPORT_MASK.
        globals: HWW_GLOBAL_ESR_REPORT_MASK.
        families: generations it identifies.
        certainty: documented in driver source, or inferred from log lines.
    """

    who: str
    chips: str
    warp: int
    globals: int
    families: tuple[Family, ...]
    certainty: Certainty


REPORT_MASKS: tuple[ReportMasks, ...] = tuple(
    ReportMasks(
        line.words[0],
        line.text(),
        _number(line, "warp"),
        _number(line, "globals"),
        line.families,
        line.certainty,
    )
    for line in _TABLE["masks"]
)


def masks_match(warp: int | None, globals_: int | None) -> Iterator[ReportMasks]:
    """The known pairs both given masks agree with; a missing mask agrees with every pair."""
    for row in REPORT_MASKS:
        if warp in (None, row.warp) and globals_ in (None, row.globals):
            yield row


def layout_of_masks(warp: int | None, globals_: int | None) -> PortAddressLayout | None:
    """The one layout all chips with these masks use; None when unknown or not unique."""
    if warp is None:
        return None
    families = {family for row in masks_match(warp, globals_) for family in row.families}
    fitting = [layout for layout in LAYOUTS if families and families <= set(layout.families)]
    return fitting[0] if fitting else None
