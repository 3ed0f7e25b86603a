"""How the lanes of a warp will lie to one another in memory, guessed before code is made.

The integer instructions of a listing are executed once in the order of their addresses for two
sample warps, with any numbers for what is not known.  Where the addresses of an access differ from
lane to lane in the same way in both, code is made for that pattern.  It is a guess: the code checks
it (`patterned_access`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpudbg.isa.operands import RZ, Access, Reg
from gpudbg.mem.lanes import FULL, LANE_IDS, U32, U64
from gpudbg.sm.engines.values import ValueOps, const32, join, lanes32, lanes64
from gpudbg.sm.launch_constants import launch_words
from gpudbg.sm.semantics import registry
from gpudbg.sm.semantics.memory import SIZES, address_of
from gpudbg.sm.semantics.wide.memory import address_of as wide_address_of

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.kernel.listing import KernelListing

_SAMPLES = (1, 2)
"""Numbers of the sample warps in a block."""
_LINE = 64
"""Alignment at which a pattern begins, where both samples allow it."""
_SIMPLE = frozenset(
    "MOV MOV32I S2R IADD IADD32I IADD3 ISCADD ISCADD32I LEA LOP LOP32I LOP3 SHL SHR SHF BFE BFI "
    "PRMT IMUL IMUL32I IMAD IMAD32I IMADSP XMAD SEL".split()
)
_SIMPLE_WIDE = frozenset(
    "MOV UMOV S2R S2UR CS2R IADD3 UIADD3 IADD UIADD IMAD UIMAD LEA ULEA LOP3 ULOP3 SHF USHF PRMT "
    "UPRMT SEL USEL SGXT USGXT BMSK UBMSK VIADD UVIADD R2UR LDC ULDC LDCU".split()
)
"""Mnemonics of the 128-bit sets that samples execute."""
_ACCESSES = frozenset(("LDS", "STS", "LDG", "STG"))
HALF = 16
"""Lanes in a vector."""
_UNIFORM = 256
_PIECES = 4
"""Most pieces of 64 bytes from which words are selected."""
_FARTHEST = 1 << 24
"""Most bytes between lanes gathered with constants: well inside a signed 32-bit number."""


Pattern = tuple[int, ...]
"""Addresses of an access by lane: bytes from one that is the same for all lanes."""


class _UnknownError(Exception):
    """A value that is not known before the kernel runs."""


class _Sample(ValueOps):
    """One warp's registers, as far as they are known."""

    __slots__ = ("_number", "_regs", "_row", "_width_at")

    def __init__(self, number: int, row: int, arch: str) -> None:
        self._number, self._row = number, row
        self._width_at = launch_words(arch).block
        self._regs: dict[int, U32] = {}

    def forget(self, first: int, count: int) -> None:
        """Drop registers whose values are unknown."""
        for index in range(first, first + count):
            self._regs.pop(index, None)

    def reg(self, index: int) -> U32:
        if index == RZ:
            return const32(0)
        if index not in self._regs:
            raise _UnknownError
        return self._regs[index]

    def reg_pair(self, index: int) -> U64:
        return join(self.reg(index), self.reg(index + 1))

    def reg_write(self, index: int, value: U32 | int) -> None:
        if index != RZ:
            self._regs[index] = const32(value) if isinstance(value, int) else value

    def reg_pair_write(self, index: int, value: U64) -> None:
        self.reg_write(index, self.lo(value))
        self.reg_write(index + 1, self.hi(value))

    def pred(self, index: int) -> int:
        return FULL

    def pred_write(self, index: int, value: int) -> None:
        """Not kept."""

    def cc_read(self, flag: str) -> int:
        return 0

    def cc_write(self, flag: str, value: int) -> None:
        """Not kept."""

    def const(self, bank: int, offset: int) -> U32:
        # Strides are mostly even; a number that differs between the samples shows whether the
        # pattern depends on it.
        at_width = (bank, offset) == (0, self._width_at)
        return const32(self._row if at_width else 1024 * self._number)

    def const_pair(self, bank: int, offset: int) -> U64:
        return join(self.const(bank, offset), self.const(bank, offset + 4))

    def const_load(self, bank: Any, offset: Any, size: int, signed: bool) -> list[U32]:
        if not (isinstance(bank, int) and isinstance(offset, int)):
            raise _UnknownError
        return [self.const(bank, offset + 4 * n) for n in range(max(1, size // 4))]

    # Uniform registers are numbered after a lane's own here.

    def ureg(self, index: int) -> U32:
        return const32(0) if index == RZ else self.reg(_UNIFORM + index)

    def ureg_pair(self, index: int) -> U64:
        return join(self.ureg(index), self.ureg(index + 1))

    def ureg_write(self, index: int, value: U32 | int) -> None:
        if index != RZ:
            self.reg_write(_UNIFORM + index, const32(int(lanes32(value)[0])))

    def upred(self, index: int) -> int:
        return FULL

    def upred_write(self, index: int, value: int) -> None:
        """Not kept."""

    def sreg(self, index: int) -> U32:
        thread = LANE_IDS + np.uint32(32 * self._number)
        known = {0: LANE_IDS, 33: thread % np.uint32(self._row), 34: thread // np.uint32(self._row)}
        return known.get(index, const32(0))

    def lanes(self) -> int:
        return FULL


def row_of(width: int) -> int:
    """A number of threads in x that blocks have patterns in common with.

    Args:
        width: of the launch.
    """
    if width % 32 == 0:
        return min(width, 64)
    return width if 32 % width == 0 else 16


def patterns_of(listing: KernelListing, row: int) -> dict[int, Pattern]:
    """Address of an instruction to the pattern of its access, where there is one.

    Args:
        row: threads of a block in x (`row_of`).
    """
    if not any(insn.op in _ACCESSES for insn in listing.code.values()):
        return {}
    # A row of 64 stands for all longer ones.
    arch = listing.arch
    samples = [_Sample(number, row if row < 64 else 1024, arch) for number in _SAMPLES]
    found = {}
    run = _Narrow() if listing.layout.has_control_words else _Wide(arch)
    for pc in sorted(listing.code):
        insn = listing.code[pc]
        places = [_address(sample, run, insn) for sample in samples]
        pattern = _pattern(*places)
        if pattern is not None:
            found[pc] = pattern
    return found


def well_founded(listing: KernelListing) -> frozenset[int]:
    """Addresses of accesses whose own address is made, in the order of the code, of nothing but
    threads, blocks, numbers and what is passed.

    A register that is given an unknown value keeps the known one before it in a sample: code for
    whole warps finds out once that a guess is wrong, and is made anew.
    """
    narrow = listing.layout.has_control_words
    simple, data = (_SIMPLE, "b") if narrow else (_SIMPLE_WIDE, "a")
    # What nothing writes is zero.
    reads = (_registers(insn.reads()) for insn in listing.code.values())
    known = set().union(*reads) - _registers(listing.written())
    found = set()
    for pc in sorted(listing.code):
        insn = listing.code[pc]
        read, written = _registers(insn.reads()), _registers(insn.writes())
        if insn.op in _ACCESSES:
            stored = insn.o.get(data)
            about = read - ({("R", stored.index)} if isinstance(stored, Reg) else set())
            if about <= known:
                found.add(pc)
        if insn.op in simple and read <= known:
            known |= written
        else:
            known -= written
    return frozenset(found)


def _registers(access: Access) -> set[tuple[str, int]]:
    """Registers of lanes and of warps."""
    return {("R", n) for n in access.registers} | {("UR", n) for n in access.uniform}


class _Narrow:
    """Execution of 64-bit instructions for samples.

    Attributes:
        simple: mnemonics.
    """

    simple = _SIMPLE

    def __init__(self) -> None:
        self._table = registry.table("sm_50")

    def execute(self, sample: Any, insn: Any) -> None:
        """Execute an instruction for a sample."""
        self._table[insn.op](sample, insn)

    def address(self, sample: Any, insn: Any) -> Any:
        """Address of an access."""
        return address_of(sample, insn)

    def unknown(self, insn: Any) -> tuple[int, int]:
        """First one and number of the registers that an instruction gives unknown values."""
        goal = insn.o.get("d")
        if not isinstance(goal, Reg):
            return 0, 0
        return goal.index, max(1, SIZES.get(insn.m.get("size"), (4, False))[0] // 4)


class _Wide(_Narrow):
    """Execution of 128-bit instructions for samples."""

    simple = _SIMPLE_WIDE

    def __init__(self, arch: str) -> None:
        self._table = registry.table(arch)

    def address(self, sample: Any, insn: Any) -> Any:
        return wide_address_of(sample, insn)

    def unknown(self, insn: Any) -> tuple[int, int]:
        goal = insn.o.get("d")
        if not isinstance(goal, Reg) or goal.is_zero:
            return 0, 0
        return goal.index + _UNIFORM * (goal.file == "UR"), goal.count


def _address(sample: _Sample, run: _Narrow, insn: Any) -> U64 | None:
    """Execute an instruction for a sample; the addresses of an access."""
    simple = insn.op in run.simple
    try:
        if simple:
            run.execute(sample, insn)
            return None
        if insn.op in _ACCESSES:
            address: Any = run.address(sample, insn)
            wide = isinstance(address, np.ndarray) and address.dtype == np.uint64
            return lanes64(address if wide else sample.zext(lanes32(address)))
    except (_UnknownError, AttributeError, KeyError, ValueError):
        # Operands missing in samples may be among the unknown ones.
        pass
    finally:
        if not simple:
            sample.forget(*run.unknown(insn))
    return None


def _pattern(first: U64 | None, second: U64 | None) -> Pattern | None:
    """The pattern common to two samples' addresses; None where they differ."""
    if first is None or second is None:
        return None
    lows = [int(places.min()) for places in (first, second)]
    if (
        max(int(places.max()) - low for places, low in zip((first, second), lows, strict=True))
        > FULL
    ):
        return None
    inside = lows[0] % _LINE if lows[0] % _LINE == lows[1] % _LINE else 0
    lanes, others = (
        places - np.uint64(low - inside) for places, low in zip((first, second), lows, strict=True)
    )
    return tuple(lanes.tolist()) if np.array_equal(lanes, others) else None


# ---- how an access is made of vectors ------------------------------------------------------


class PatternPart(NamedTuple):
    """16 lanes of one word.

    Attributes:
        kind: "splat": one word for all; "line": words that follow one another; "pick": words
            of up to four pieces of 64 bytes in a row; "gather": words anywhere.
        offset: of the first byte.
        picks: for "pick", the word of each lane; for "gather", its bytes from `offset`.
    """

    kind: str
    offset: int
    picks: tuple[int, ...] = ()

    def end(self, size: int) -> int:
        """The offset behind what is loaded of a word of an access of `size` bytes."""
        if self.kind == "splat":
            return self.offset + min(size, 4)
        if self.kind == "line":
            return self.offset + HALF * min(size, 4)
        if self.kind == "gather":
            return self.offset + max(self.picks) + 4
        return self.offset + _LINE * (max(self.picks) // HALF + 1)


class PatternPiece(NamedTuple):
    """64 bytes to be stored: for each word whose it is, as (word, lane), or None.

    Attributes:
        offset: of the first byte.
        words: 16 of them.
    """

    offset: int
    words: tuple[tuple[int, int] | None, ...]

    @property
    def sources(self) -> list[tuple[int, int]]:
        """The (word, half of the warp) pairs it takes data from."""
        return sorted({(word[0], word[1] // HALF) for word in self.words if word is not None})


@cache
def load_parts(
    pattern: Pattern, size: int, gathers: bool = False
) -> tuple[tuple[PatternPart, PatternPart], ...] | None:
    """For each word, how both halves of a warp load it; None: not by vectors.

    Args:
        gathers: the host gathers words.
    """
    if _crooked(pattern, size):
        return None
    words = []
    for n in range(max(1, size // 4)):
        places = [place + 4 * n for place in pattern]
        halves = [_part(places[:HALF], size, gathers), _part(places[HALF:], size, gathers)]
        if halves[0] is None or halves[1] is None:
            return None
        words.append((halves[0], halves[1]))
    return tuple(words)


def _crooked(pattern: Pattern, size: int) -> bool:
    """Whether some lanes are misaligned if others are not."""
    return any((place - pattern[0]) % size for place in pattern)


def _part(places: list[int], size: int, gathers: bool) -> PatternPart | None:
    first = places[0]
    if len(set(places)) == 1:
        return PatternPart("splat", first)
    step = min(size, 4)
    if places == list(range(first, first + HALF * step, step)):
        return PatternPart("line", first)
    start = min(places) // _LINE * _LINE
    if size < 4 or any(place % 4 for place in places):
        return None
    if max(places) >= start + _PIECES * _LINE:
        steps = _steps(places)
        return PatternPart("gather", min(places), steps) if gathers and steps else None
    return PatternPart("pick", start, tuple((place - start) // 4 for place in places))


def _steps(places: Sequence[int]) -> tuple[int, ...]:
    """Bytes of each place from the first one; () where they are far apart."""
    first = min(places)
    steps = tuple(place - first for place in places)
    return steps if max(steps) < _FARTHEST else ()


@cache
def scatter_steps(pattern: Pattern, size: int) -> tuple[int, ...]:
    """Bytes of each lane from the lowest one, where a store may scatter words; () elsewhere: lanes
    overlap, or lie far apart."""
    alike = len(set(pattern)) < len(pattern) or _crooked(pattern, size) or pattern[0] % 4
    return () if size < 4 or alike else _steps(pattern)


@cache
def store_pieces(
    pattern: Pattern, size: int, inside: bool = False
) -> tuple[PatternPiece, ...] | None:
    """The pieces of memory that a warp writes; None: it cannot be done by vectors.

    Args:
        inside: they lie between the first and the last byte that it writes, where they can; they
            may write words twice.
    """
    words: dict[int, tuple[int, int]] = {}
    for lane, place in enumerate(pattern):
        for n in range(size // 4):
            words[place + 4 * n] = n, lane
    if size < 4 or len(words) < 32 * size // 4 or _crooked(pattern, size) or pattern[0] % 4:
        return None
    lines = [pattern[:HALF], pattern[HALF:]]
    pieces = []
    if size == 4 and all(line == tuple(range(line[0], line[0] + _LINE, 4)) for line in lines):
        starts = [line[0] for line in lines]
    else:
        starts = sorted({place // _LINE * _LINE for place in words})
    least, most = min(words), max(words) + 4 - _LINE
    for start in starts:
        piece = _piece_at(start, words)
        within = _piece_at(min(max(start, least), most), words)
        if inside and most >= least and len(within.sources) <= 2:
            piece = within
        if len(piece.sources) > 2:
            return None
        pieces.append(piece)
    return tuple(pieces)


def _piece_at(start: int, words: Mapping[int, tuple[int, int]]) -> PatternPiece:
    """A piece from a word on."""
    return PatternPiece(start, tuple(words.get(start + 4 * n) for n in range(HALF)))
