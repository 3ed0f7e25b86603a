"""Undefined bits of results, exact for instructions that move or add bits.

A bit of a sum depends on the same bits of its operands and on lower ones: what is below the lowest
undefined bit is defined.  So a counter in the low half of a register whose other half nobody has
written decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import PT, Const, Imm, Pred, Reg
from gpudbg.mem.lanes import FULL, bools
from gpudbg.sanitizer.barriers import shuffle_sources
from gpudbg.sanitizer.defined_predicates import word_of

if TYPE_CHECKING:
    from gpudbg.mem.constant import ConstantBanks
    from gpudbg.sm.state import WarpState

U32 = npt.NDArray[np.uint32]
U8 = npt.NDArray[np.uint8]

ALL: Final = np.uint32(0xFFFFFFFF)
BITWISE: Final = frozenset(("LOP", "LOP32I", "LOP3"))
_MOVES: Final = frozenset(("MOV", "MOV32I"))
SUMS: Final = frozenset(
    ("IADD", "IADD32I", "IADD3", "VIADD", "ISCADD", "ISCADD32I", "LEA", "IMUL", "IMUL32I", "IMAD",
     "XMAD")
)  # fmt: skip
_NOT_LOW: Final = frozenset(("HI", "WIDE", "X", "XHI", "PSL", "MRG", "CBCC", "CHI", "CLO"))
"""Modifiers of additions whose low result bits depend on more than low operand bits."""


@dataclass(slots=True)
class Shadow:
    """What is undefined of a warp's registers.

    Attributes:
        bits: undefined bits, (256, 32).
        derived: bits of lanes, by register: arithmetic made the value.
        origin: index into the list of origins, (256, 32); 0: the register itself.
        predicates: mask of lanes in which each is undefined.
        sources: origin of each predicate.
        uniform: uniform registers that are undefined, and the origin of each.
    """

    bits: U32
    derived: npt.NDArray[np.uint32]
    origin: npt.NDArray[np.int32]
    predicates: list[int]
    sources: list[int]
    uniform: dict[int, int] = field(default_factory=dict)
    local: dict[int, U8] = field(default_factory=dict)


def lanes_with(bits: U32) -> int:
    """Mask of the lanes in which any bit is set."""
    return int.from_bytes(np.packbits(bits != 0, bitorder="little").tobytes(), "little")


Rows = dict[int, tuple[Any, int, Any]]


def exact_bits(
    shadow: Shadow,
    warp: WarpState,
    insn: Any,
    lanes: int,
    constants: ConstantBanks | None = None,
) -> Rows | None:
    """Undefined bits of each result register; None: any undefined operand bit makes all bits
    undefined.
    """
    destination = insn.o.get("d")
    if not isinstance(destination, Reg) or destination.count != 1 or destination.file != "R":
        return None
    op = insn.op
    if op in _MOVES or (op == "IMAD" and ".MOV" in insn.text()):
        # The source: `b` on sm_50 to sm_62, `a` from sm_70 on, `c` of an IMAD.
        source = next((insn.o[s] for s in ("c", "b", "a") if isinstance(insn.o.get(s), Reg)), None)
        if source is not None and (source.file != "R" or source.neg):
            return None
        return {destination.index: _of(shadow, source)}
    if op in ("SEL", "FSEL"):
        return _select(shadow, warp, insn, destination.index)
    if op == "SHFL":
        return _shuffle(shadow, warp, insn, destination.index, lanes)
    if op in BITWISE:
        return _bitwise(shadow, warp, insn, destination.index, constants)
    if op in ("SHL", "SHR") and isinstance(insn.o.get("b"), Imm):
        return _shift(shadow, insn, destination.index)
    handler = _HANDLERS.get(op)
    if handler is not None:
        return handler(shadow, insn, destination.index)
    if op == "PRMT":
        return _permute(shadow, insn, destination.index)
    if op in ("S2R", "CS2R", "LDC", "P2R") and not insn.reads().registers:
        return {destination.index: (0, 0, 0)} if op != "P2R" else None
    return None


def _of(shadow: Shadow, operand: Any) -> tuple[Any, int, Any]:
    if isinstance(operand, Reg) and operand.file == "R" and not operand.is_zero:
        index = operand.index
        return shadow.bits[index].copy(), int(shadow.derived[index]), shadow.origin[index].copy()
    return 0, 0, 0


def _select(shadow: Shadow, warp: WarpState, insn: Any, index: int) -> Rows | None:
    chooser = next((o for s, o in insn.o.items() if isinstance(o, Pred) and s != "p"), None)
    if chooser is None or chooser.file != "P":
        return None
    held = FULL if chooser.index == PT else int(warp.predicates[chooser.index])
    if chooser.index != PT and shadow.predicates[chooser.index]:
        return None
    take = bools(held ^ (FULL if chooser.neg else 0))
    a, b = _of(shadow, insn.o.get("a")), _of(shadow, insn.o.get("b"))
    mask = lanes_with(take.astype(np.uint32))
    made = np.where(take, a[0], b[0]).astype(np.uint32)
    return {index: (made, a[1] & mask | b[1] & ~mask, np.where(take, a[2], b[2]))}


def _shuffle(shadow: Shadow, warp: WarpState, insn: Any, index: int, lanes: int) -> Rows | None:
    sources = shuffle_sources(warp, insn)
    if sources is None:
        return None
    bits, derived, origin = _of(shadow, insn.o.get("a"))
    if isinstance(bits, int):
        return {index: (0, 0, 0)}
    # A value read from an inactive lane is another check's finding.
    part = bools(lanes)[sources]
    moved = bools(derived)[sources] & part
    return {
        index: (
            np.where(part, bits[sources], 0).astype(np.uint32),
            lanes_with(moved.astype(np.uint32)),
            origin[sources],
        )
    }


def _bitwise(
    shadow: Shadow, warp: WarpState, insn: Any, index: int, constants: ConstantBanks | None
) -> Rows | None:
    if insn.op == "LOP3":
        return _lookup(shadow, warp, insn, index, constants)
    slots = [s for s in ("a", "b", "c") if isinstance(insn.o.get(s), Reg | Imm | Const)]
    if len(slots) != 2:
        return None
    (a, ua), (b, ub) = (
        (word_of(warp, insn.o[s], constants), _of(shadow, insn.o[s])) for s in slots
    )
    if a is None or b is None:
        return None
    text = insn.text()
    a = ~a if insn.o[slots[0]].inv else a
    b = ~b if insn.o[slots[1]].inv else b
    if insn.o[slots[0]] == insn.o[slots[1]] and ".XOR" in text:
        return {index: (0, 0, 0)}
    if ".AND" in text:
        bits = (ua[0] & (b | ub[0])) | (ub[0] & (a | ua[0]))
    elif ".OR" in text:
        bits = (ua[0] & (~b | ub[0])) | (ub[0] & (~a | ua[0]))
    elif ".PASS_B" in text:
        return {
            index: (
                ub[0],
                ub[1] | (lanes_with(np.asarray(ub[0])) if insn.o[slots[1]].inv else 0),
                ub[2],
            )
        }
    else:
        bits = np.asarray(ua[0] | ub[0], np.uint32)
    origin = np.where(np.asarray(ua[0]) != 0, ua[2], ub[2])
    made = np.asarray(ua[0] & ub[0], np.uint32)
    for known, undefined, slot in ((b, ua[0], slots[0]), (a, ub[0], slots[1])):
        # An inverted bit is computed, not moved.
        turned = np.asarray(known, np.uint32) if ".XOR" in text else np.zeros(32, np.uint32)
        made = made | (undefined & (~turned if insn.o[slot].inv else turned))
    derived = lanes_with(np.asarray(bits & made, np.uint32))
    return {index: (np.asarray(bits, np.uint32), ua[1] | ub[1] | derived, origin)}


def _lookup(
    shadow: Shadow, warp: WarpState, insn: Any, index: int, constants: ConstantBanks | None
) -> Rows | None:
    """LOP3: a result bit is undefined where the table's output depends on an undefined input
    bit.
    """
    table, given = insn.o.get("imm"), [insn.o.get(s) for s in ("a", "b", "c")]
    if not isinstance(table, Imm) or _spoilt_uniform(shadow, given):
        return None
    values = [word_of(warp, operand, constants) for operand in given]
    if any(value is None for value in values):
        return None
    undefined = [_of(shadow, operand) for operand in given]
    found, first = np.zeros(32, np.uint32), None
    # Equal operands have one value.
    first_of = [given.index(operand) for operand in given]
    for choice in range(8):
        chosen = [
            np.asarray(v ^ u[0] if choice >> n & 1 else v, np.uint32)
            for n, v, u in zip(first_of, values, undefined, strict=True)
        ]
        made = _looked_up(int(table.value), chosen)
        first = made if first is None else first
        found |= made ^ first
    origin: Any = 0
    for bits_of, _, source in undefined:
        origin = np.where(np.asarray(bits_of) != 0, source, origin)
    derived = undefined[0][1] | undefined[1][1] | undefined[2][1]
    moved = np.zeros(32, np.uint32)
    spoilt = [np.zeros(32, np.uint32) | np.asarray(d[0], np.uint32) for d in undefined]
    for n in set(first_of):
        # Depends on one operand alone, uninverted.
        alone = spoilt[n]
        for other in set(first_of) - {n}:
            alone = alone & ~spoilt[other]
        high, low = (
            _looked_up(int(table.value), [
                np.asarray((v | u if up else v & ~u) if m == n else v, np.uint32)
                for m, v, u in zip(first_of, values, spoilt, strict=True)
            ])
            for up in (True, False)
        )  # fmt: skip
        moved |= alone & high & ~low
    return {index: (found, derived | lanes_with(found & ~moved), origin)}


def _looked_up(table: int, given: Iterable[U32]) -> U32:
    """Evaluate the table of a LOP3 on three words."""
    words, made = list(given), np.zeros(32, np.uint32)
    for row in range(8):
        if table >> row & 1:
            a, b, c = (v if row >> 2 - n & 1 else ~v for n, v in enumerate(words))
            made |= a & b & c
    return made


def _shift(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    count = int(insn.o["b"].value)
    bits, derived, origin = _of(shadow, insn.o.get("a"))
    if isinstance(bits, int) or count > 31:
        return {index: (0, 0, 0)} if isinstance(bits, int) else None
    text = insn.text()
    if insn.op == "SHL":
        made = bits << np.uint32(count)
        derived |= _multiplied(made, count)
    elif ".U32" in text:
        made = bits >> np.uint32(count)
    else:
        made = (bits.view(np.int32) >> np.int32(count)).view(np.uint32)
    return {index: (made, derived, origin)}


def _permute(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    selector = insn.o.get("b")
    if not isinstance(selector, Imm) or len(insn.text().split()[0].split(".")) > 1:
        return None
    a, c = _of(shadow, insn.o.get("a")), _of(shadow, insn.o.get("c"))
    rows = [np.broadcast_to(np.asarray(x[0], np.uint32), 32) for x in (a, c)]
    made = np.zeros(32, np.uint32)
    for n in range(4):
        pick = int(selector.value) >> 4 * n & 15
        byte = rows[pick >> 2 & 1] >> np.uint32(8 * (pick & 3)) & np.uint32(0xFF)
        if pick & 8:
            byte = np.where(byte & 0x80, np.uint32(0xFF), np.uint32(0))
        made |= (byte << np.uint32(8 * n)).astype(np.uint32)
    origin = np.where(rows[0] != 0, a[2], c[2])
    return {index: (made, a[1] | c[1], origin)}


def _spoilt_uniform(shadow: Shadow, operands: Iterable[Any]) -> bool:
    """Whether a uniform register among the operands is undefined."""
    return any(
        isinstance(o, Reg) and o.file == "UR" and o.index in shadow.uniform for o in operands
    )


def _name(insn: Any) -> list[str]:
    """The parts of an instruction's name."""
    words: list[str] = insn.text().split()
    return (words[1] if words[0].startswith("@") else words[0]).rstrip(";").split(".")


def _part(bits: Any, part: str) -> Any:
    """The undefined bits of a piece of a register, shifted to bit 0."""
    if part in ("", "H1_H0"):
        return bits
    kind, number = part[:1], int(part[1:2])
    width = {"B": 8, "H": 16}[kind]
    return bits >> np.uint32(width * number) & np.uint32((1 << width) - 1)


def _sum(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    """Addition: undefined from the lowest undefined operand bit upwards."""
    given = [insn.o.get(slot) for slot in ("a", "b", "c")]
    if _NOT_LOW & set(_name(insn)) or _spoilt_uniform(shadow, given):
        return None
    guard = insn.guard[0]
    if any(p < PT and p != guard and shadow.predicates[p] for p in insn.reads().predicates):
        return None
    bits, origin = np.zeros(32, np.uint32), np.zeros(32, np.int32)
    for operand in given:
        mine, _, source = _of(shadow, operand)
        if isinstance(mine, int):
            continue
        mine = _part(mine, operand.part)
        bits |= mine
        origin = np.where(mine != 0, source, origin)
    lowest = bits & (~bits + np.uint32(1))
    made = np.where(bits != 0, ~(lowest - np.uint32(1)), np.uint32(0))
    return {index: (made, lanes_with(made), origin)}


def _funnel(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    """SHF by a constant: undefined bits of the shifted word of the pair (c, a)."""
    count, name = insn.o.get("b"), _name(insn)
    if not isinstance(count, Imm) or not 0 < int(count.value) < 32:
        return None
    low, high = _of(shadow, insn.o.get("a")), _of(shadow, insn.o.get("c"))
    a, c = (np.broadcast_to(np.asarray(x[0], np.uint32), 32) for x in (low, high))
    n, rest = np.uint32(count.value), np.uint32(32 - int(count.value))
    if "L" in name:
        made = c << n | a >> rest if "HI" in name else a << n
    elif "HI" not in name:
        made = a >> n | c << rest
    elif {"S32", "S64"} & set(name):
        made = (c.view(np.int32) >> np.int32(n)).view(np.uint32)
    else:
        made = c >> n
    derived = low[1] | high[1]
    if "L" in name:
        derived |= _multiplied(made, int(count.value))
    return {index: (made, derived, np.where(a != 0, low[2], high[2]))}


def _multiplied(made: Any, count: int) -> int:
    """Mask of lanes in which a left shift acts as a product (`x * 2`); shifts by whole bytes pack
    data instead.
    """
    return lanes_with(made) if count % 8 else 0


def _extract(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    """BFE by a number."""
    what = insn.o.get("b")
    if not isinstance(what, Imm):
        return None
    bits, derived, origin = _of(shadow, insn.o.get("a"))
    first, length = int(what.value) & 255, int(what.value) >> 8 & 255
    if isinstance(bits, int) or not 0 < length <= 32 - first:
        return {index: (0, 0, 0)} if isinstance(bits, int) else None
    made = bits << np.uint32(32 - first - length)
    if "U32" in _name(insn):
        made = made >> np.uint32(32 - length)
    else:
        made = (made.view(np.int32) >> np.int32(32 - length)).view(np.uint32)
    return {index: (made, derived, origin)}


def _convert(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    """A conversion reads one piece of a register."""
    source = next((insn.o[s] for s in ("b", "a") if isinstance(insn.o.get(s), Reg)), None)
    if source is None or source.file != "R" or source.count > 1:
        return None
    bits, _, origin = _of(shadow, source)
    if isinstance(bits, int):
        return {index: (0, 0, 0)}
    name = _name(insn)
    narrow = next((_PIECES[w] for w in reversed(name) if w in _PIECES), "")
    read = _part(bits, source.part or narrow)
    made = np.where(read != 0, ALL, np.uint32(0))
    return {index: (made, lanes_with(made), origin)}


_PIECES: Final = {"U8": "B0", "S8": "B0", "U16": "H0", "S16": "H0"}
"""Source type -> the piece that a conversion reads where its operand names none."""


def _halves(shadow: Shadow, insn: Any, index: int) -> Rows | None:
    """Packed half arithmetic: each half by itself."""
    name = _name(insn)
    operands = [insn.o.get(slot) for slot in ("a", "b", "c")]
    if any("MRG" in word for word in name) or _spoilt_uniform(shadow, operands):
        return None
    low, high = np.zeros(32, bool), np.zeros(32, bool)
    origin = np.zeros(32, np.int32)
    for operand in operands:
        bits, _, source = _of(shadow, operand)
        if isinstance(bits, int):
            continue
        if operand.part not in ("", "H1_H0", "H0_H0", "H1_H1"):
            return None
        halves = [_part(bits, "H0") != 0, _part(bits, "H1") != 0]
        low |= halves[operand.part == "H1_H1"]
        high |= halves[operand.part != "H0_H0"]
        origin = np.where(bits != 0, source, origin)
    made = np.where(low, np.uint32(0xFFFF), np.uint32(0))
    made |= np.where(high, np.uint32(0xFFFF0000), np.uint32(0))
    if "F32" in name:
        made = np.where(low, ALL, np.uint32(0))
    return {index: (made, lanes_with(made), origin)}


_HANDLERS: Final[dict[str, Callable[[Shadow, Any, int], Rows | None]]] = {
    **dict.fromkeys(SUMS, _sum),
    **dict.fromkeys(("I2F", "I2I", "F2F", "F2I", "I2FP"), _convert),
    **dict.fromkeys(("HADD2", "HMUL2", "HFMA2", "HMNMX2"), _halves),
    "SHF": _funnel,
    "BFE": _extract,
}
