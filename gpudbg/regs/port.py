"""The SM's debugger port: registers a driver uses, where they lie, and what their bits mean.

Sources: nvgpu hardware headers (gk20a, gm20b, gp10b, gv11b, tu104, ga10b), rnndb, nouveau; the
third address layout is inferred from some forty log lines that print both text and address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

from gpudbg.bits import Field
from gpudbg.regs.esr import ESR_WORDS
from gpudbg.regs.words import (
    ALL_FAMILIES,
    FERMI_KEPLER,
    MAXWELL_PASCAL,
    ONE_SM_TPC,
    BitRow,
    Certainty,
    Family,
    FieldKind,
    RegisterWord,
    complete,
)

_DOC, _INF = Certainty.DOCUMENTED, Certainty.INFERRED


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


def _flags(meanings: dict[IntFlag, str]) -> tuple[BitRow, ...]:
    rows = []
    for flag, meaning in meanings.items():
        bit = int(flag).bit_length() - 1
        rows.append(BitRow(str(flag.name), Field(bit, bit), meaning, kind=FieldKind.FLAG))
    return complete(tuple(rows))


def _everywhere(rows: tuple[BitRow, ...]) -> tuple[tuple[tuple[Family, ...], tuple[BitRow, ...]]]:
    return ((ALL_FAMILIES, rows),)


def _warps(name: str, meaning: str, half: str, aliases: tuple[str, ...] = ()) -> RegisterWord:
    first = 0 if half == "LO" else 32
    row = BitRow(
        "WARPS", Field(31, 0), f"warps {first} .. {first + 31} {meaning}", kind=FieldKind.MASK
    )
    return RegisterWord(f"{name}_{half}", row.meaning, _everywhere((row,)), aliases)


_WARP_MASKS = (
    ("WARP_VALID_MASK", "that exist on the SM", ("VALID_MASK",)),
    ("BPT_PAUSE_MASK", "that wait in BPT.PAUSE", ("PAUSE_MASK", "DBGR_BPT_PAUSE_MASK")),
    ("BPT_TRAP_MASK", "that executed BPT.TRAP", ("TRAP_MASK", "DBGR_BPT_TRAP_MASK")),
)
_TRIGGER_NOTE = "a driver takes STOP_TRIGGER back with a write of its own, then sets RUN_TRIGGER"

PORT_WORDS: tuple[RegisterWord, ...] = (
    RegisterWord(
        "DBGR_CONTROL0",
        "what the debugger asks of the SM",
        _everywhere(
            _flags(
                {
                    DbgrControl0.DEBUGGER_MODE: "debugger attached",
                    DbgrControl0.STOP_ON_ANY_WARP: "one warp's stop stops the SM",
                    DbgrControl0.STOP_ON_ANY_SM: "one SM's stop stops this one",
                    DbgrControl0.SINGLE_STEP_MODE: "stop after every instruction",
                    DbgrControl0.RUN_TRIGGER: "run again; alone it does not resume",
                    DbgrControl0.STOP_TRIGGER: "stop now; stays set until taken back",
                }
            )
        ),
        aliases=("CONTROL0",),
        look_at=_TRIGGER_NOTE,
    ),
    RegisterWord(
        "DBGR_STATUS0",
        "what the SM answers",
        _everywhere(
            _flags(
                {
                    DbgrStatus0.SM_IN_TRAP_MODE: "warps are in the trap handler, or held",
                    DbgrStatus0.LOCKED_DOWN: "the SM stands still: state may be read and written",
                }
            )
        ),
        aliases=("STATUS0",),
        look_at="fully stopped: every SM with valid warps in trap mode, pause mask = valid mask",
    ),
    *(
        _warps(name, meaning, half, (name, *aliases) if half == "LO" else ())
        for name, meaning, aliases in _WARP_MASKS
        for half in ("LO", "HI")
    ),
    RegisterWord(
        "SM_CFG",
        "identity of the SM",
        ((MAXWELL_PASCAL, complete((BitRow("SM_ID", Field(15, 0), "SM number"),))),),
    ),
    RegisterWord(
        "SM_ARCH",
        "architecture of the SM",
        (
            (
                MAXWELL_PASCAL,
                (
                    BitRow("WARP_COUNT", Field(7, 0), "warps per SM"),
                    BitRow("SPA_VERSION", Field(19, 8), "instruction set version"),
                    BitRow("SM_VERSION", Field(31, 20), "SM version"),
                ),
            ),
        ),
    ),
    *(
        RegisterWord(
            name,
            meaning,
            _everywhere(
                _flags(
                    {
                        TpcException.TEX: "texture unit",
                        TpcException.SM: "SM",
                        TpcException.PE: "primitive engine",
                        TpcException.MPC: "MPC",
                    }
                )
            ),
        )
        for name, meaning in (
            ("TPC_EXCEPTION", "units of the TPC with an exception pending"),
            ("TPC_EXCEPTION_EN", "units whose exceptions are forwarded"),
        )
    ),
)

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
_ONE_SM_OFFSETS = {
    0x508: "TPC_EXCEPTION",
    0x50C: "TPC_EXCEPTION_EN",
    0x60C: "DBGR_STATUS0",
    0x610: "DBGR_CONTROL0",
    0x614: "WARP_VALID_MASK_LO",
    0x618: "WARP_VALID_MASK_HI",
    0x624: "BPT_PAUSE_MASK_LO",
    0x628: "BPT_PAUSE_MASK_HI",
    0x634: "BPT_TRAP_MASK_LO",
    0x638: "BPT_TRAP_MASK_HI",
    0x644: "HWW_WARP_ESR_REPORT_MASK",
    0x648: "HWW_WARP_ESR",
    0x64C: "HWW_GLOBAL_ESR_REPORT_MASK",
    0x650: "HWW_GLOBAL_ESR",
    0x654: "HWW_WARP_ESR_PC",
    0x698: "SM_CFG",
    0x69C: "SM_ARCH",
}
_TWO_SM_OFFSETS = {
    0x00: "DBGR_STATUS0",
    0x04: "DBGR_CONTROL0",
    0x08: "WARP_VALID_MASK_LO",
    0x0C: "WARP_VALID_MASK_HI",
    0x10: "BPT_PAUSE_MASK_LO",
    0x14: "BPT_PAUSE_MASK_HI",
    0x18: "BPT_TRAP_MASK_LO",
    0x1C: "BPT_TRAP_MASK_HI",
    0x28: "HWW_WARP_ESR_REPORT_MASK",
    0x2C: "HWW_GLOBAL_ESR_REPORT_MASK",
    0x30: "HWW_WARP_ESR",
    0x34: "HWW_GLOBAL_ESR",
    0x38: "HWW_WARP_ESR_PC",
}
_SM_BLOCK, _SM_BROADCAST, _SM_STRIDE, _SMS_PER_TPC = 0x700, 0x680, 0x80, 2


@dataclass(frozen=True, slots=True)
class AddressLayout:
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


LAYOUTS: tuple[AddressLayout, ...] = (
    AddressLayout("Fermi-Pascal", ONE_SM_TPC, 0x8000, 0x4000, 0x800, 16, False, _DOC),
    AddressLayout(
        "Volta-Ampere",
        (Family.VOLTA, Family.TURING, Family.AMPERE),
        0x8000,
        0x4000,
        0x800,
        12,
        True,
        _DOC,
    ),
    AddressLayout(
        "Hopper-Blackwell",
        (Family.HOPPER, Family.BLACKWELL),
        0x10000,
        0x5000,
        0x1000,
        16,
        True,
        _INF,
    ),
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

    layout: AddressLayout
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
        offsets = _TWO_SM_OFFSETS if layout.two_sms else _ONE_SM_OFFSETS
        offset = next((o for o, name in offsets.items() if name == self.register), None)
        if offset is None or not (0 <= self.gpc < layout.gpcs and 0 <= self.tpc < layout.tpcs):
            raise ValueError(f"{layout.name} has no {self.register} at {self.gpc}/{self.tpc}")
        if layout.two_sms:
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


def _register_at(layout: AddressLayout, offset: int) -> tuple[int | None, str] | None:
    """(SM number, register name) of an offset within a TPC."""
    if not layout.two_sms:
        name = _ONE_SM_OFFSETS.get(offset)
        return (None, name) if name else None
    if _SM_BROADCAST <= offset < _SM_BLOCK:
        name = _TWO_SM_OFFSETS.get(offset - _SM_BROADCAST)
        return (None, name) if name else None
    sm, inner = divmod(offset - _SM_BLOCK, _SM_STRIDE)
    name = _TWO_SM_OFFSETS.get(inner)
    return (sm, name) if name and 0 <= sm < _SMS_PER_TPC else None


def locate(layout: AddressLayout, address: int) -> SmRegister | None:
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

OTHER_UNITS: tuple[tuple[int, int, str], ...] = (
    (0x404000, 0x404000, "front end (FE) error status"),
    (0x4041B0, 0x4041B0, "front end (FE) error information"),
    (0x404490, 0x404490, "macro expander (MME) error status"),
    (0x404600, 0x404600, "memory format (MEMFMT) error status"),
    (0x405840, 0x405840, "shader program header check, error status (inferred from log lines)"),
    (0x407020, 0x407020, "launch descriptor check (SKED), error status (inferred from log lines)"),
    (0x410000, 0x417FFF, "render back end (ROP)"),
    (0x418000, 0x4197FF, "broadcast to all GPCs"),
    (0x419800, 0x419FFF, "broadcast to all TPCs"),
)
FE_ESR = complete(
    (
        BitRow("INJECTED_BUNDLE", Field(0, 0), "injected bundle", kind=FieldKind.FLAG),
        BitRow(
            "CLASS_SUBCH_MISMATCH", Field(1, 1), "class/subchannel mismatch", kind=FieldKind.FLAG
        ),
        BitRow("RESET", Field(30, 30), "reset", kind=FieldKind.FLAG),
        BitRow("ENABLE", Field(31, 31), "reporting enabled", kind=FieldKind.FLAG),
    )
)
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


_VTA = (Family.VOLTA, Family.TURING)
_HB = (Family.HOPPER, Family.BLACKWELL)
REPORT_MASKS: tuple[ReportMasks, ...] = (
    ReportMasks("nouveau", "gf100 .. gk2xx", 0x001FFFFE, 0xF, FERMI_KEPLER, _DOC),
    ReportMasks("nouveau", "gm107, gm200", 0x00DFFFFE, 0x5, (Family.MAXWELL,), _DOC),
    ReportMasks("nouveau", "gp100", 0x00DFFFFE, 0x105, (Family.PASCAL,), _DOC),
    ReportMasks("nouveau", "gv100", 0x0085EB64, 0x4, (Family.VOLTA,), _DOC),
    ReportMasks("nvgpu", "gk20a", 0x001FFFFE, 0x7F, (Family.KEPLER,), _DOC),
    ReportMasks("NVRM", "before Maxwell", 0x0013EFF2, 0x7F, FERMI_KEPLER, _INF),
    ReportMasks("NVRM", "Maxwell", 0x00D3EFF2, 0x7F, (Family.MAXWELL,), _INF),
    ReportMasks("NVRM", "Pascal (P620 named)", 0x00D3EFF2, 0x17F, (Family.PASCAL,), _INF),
    ReportMasks("NVRM", "Volta or Turing", 0x04C1EB72, 0x174, _VTA, _INF),
    ReportMasks("NVRM", "GA100 (A800 named)", 0x0C81EB60, 0x1174, (Family.AMPERE,), _INF),
    ReportMasks("NVRM", "GA102 (3090 named)", 0x0F812B60, 0x1104, (Family.AMPERE,), _INF),
    ReportMasks("NVRM", "unnamed, old strides", 0x0F81EB60, 0x1174, (Family.AMPERE,), _INF),
    ReportMasks("NVRM", "Hopper, B200/B300", 0x1F81FB60, 0x1174, _HB, _INF),
    ReportMasks("NVRM", "unnamed, new strides", 0x1C81FB60, 0x1174, _HB, _INF),
)


def masks_match(warp: int | None, globals_: int | None) -> Iterator[ReportMasks]:
    """The known pairs both given masks agree with; a missing mask agrees with every pair."""
    for row in REPORT_MASKS:
        if warp in (None, row.warp) and globals_ in (None, row.globals):
            yield row


def layout_of_masks(warp: int | None, globals_: int | None) -> AddressLayout | None:
    """The one layout all chips with these masks use; None when unknown or not unique."""
    if warp is None:
        return None
    families = {family for row in masks_match(warp, globals_) for family in row.families}
    fitting = [layout for layout in LAYOUTS if families and families <= set(layout.families)]
    return fitting[0] if fitting else None
