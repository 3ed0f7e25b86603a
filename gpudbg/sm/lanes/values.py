"""Instructions on the lattice of the lane analysis (`gpudbg.sm.lanes`).

    ValueShape  a value is affine over the active lanes: `base of its row + offset of the lane`
                (`gpudbg.sm.lane_patterns`); the bases are known numbers or not
    None        nothing is known of a value: it is varying
    Truth       a mask whose rows are the same in all their active lanes
    None        a varying mask

`given` says that it is so unless a sum of the pattern wraps around, as index arithmetic nearly
never does.  An instruction is its semantics function (`gpudbg.sm.semantics`), executed on shapes:
one machine for all instruction sets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar

from gpudbg.isa.operands import PT, RZ
from gpudbg.sm.lane_patterns import (
    LANE_IDS,
    LANE_REGISTERS,
    LANES,
    ROWS,
    THREAD_REGISTERS,
    ZEROS,
    Offsets,
    normal,
    row_of,
    thread_offsets,
    uniform_rows,
)

FULL = 0xFFFF_FFFF
UNIFORM_BASE = 256
"""Uniform registers' numbers follow those of a lane's own; uniform predicates' likewise."""
_SAME_SREGS = frozenset((2, *range(37, 40), *range(46, 56), 61, 62))
"""Special registers that a warp's lanes share and that do not change while it runs."""


class ValueShape(NamedTuple):
    """What the active lanes of a value have in common.

    Attributes:
        rows: of the warp, with a base each.
        offsets: by lane, the least of each row 0.
        bases: where they are known numbers.
        given: it holds unless a sum wraps around.
    """

    rows: int
    offsets: Offsets
    bases: tuple[int, ...] | None = None
    given: bool = False

    @property
    def flat(self) -> bool:
        """Whether the lanes of a row are the same."""
        return self.offsets == ZEROS

    @property
    def uniform(self) -> bool:
        """Whether all lanes are the same."""
        return self.flat and self.rows == 1

    def holds(self, values: Sequence[int], active: int, bits: int = 32) -> bool:
        """Whether values are as this says in the active lanes."""
        seen: dict[int, int] = {}
        if self.bases is not None:
            seen = dict(enumerate(self.bases))
        for lane in range(LANES):
            if active >> lane & 1:
                base = values[lane] - self.offsets[lane] & (1 << bits) - 1
                if seen.setdefault(row_of(lane, self.rows), base) & (1 << bits) - 1 != base:
                    return False
        return True

    def words(self) -> str:
        """In few words."""
        text = self._plain()
        return f"{text}, unless it wraps" if self.given else text

    def _plain(self) -> str:
        if self.uniform:
            return f"uniform {self.bases[0]:#x}" if self.bases else "uniform"
        if self.flat:
            return f"uniform in each {LANES // self.rows} lanes"
        base = "" if self.bases == (0,) else "base + "
        if self.rows > 1:
            base = f"base of each {LANES // self.rows} lanes + "
        step = max(self.offsets) // (LANES - 1) or 1
        if self.offsets == tuple(step * n for n in LANE_IDS):
            return f"{base}{'' if step == 1 else f'{step}*'}lane"
        for width in (16, 8, 4, 2):
            step = max(self.offsets[:width]) // (width - 1)
            if step and self.offsets == tuple(step * (n % width) for n in LANE_IDS):
                return f"{base}{'' if step == 1 else f'{step}*'}(lane % {width})"
            step = self.offsets[-1] // ((LANES - 1) // width)
            if step and self.offsets == tuple(step * (n // width) for n in LANE_IDS):
                return f"{base}{'' if step == 1 else f'{step}*'}(lane / {width})"
        return f"{base}a pattern of the lane"


class Truth(NamedTuple):
    """A mask that is the same in the active lanes of each row; `known`: the same in all, and what.

    `given`: as of a shape.
    """

    rows: int
    known: bool | None = None
    given: bool = False


class _Varying:
    """What an operation answers of a value, or mask, of which nothing is known.

    Not None, by which semantics functions mean that there is no operand: no carry, no second
    predicate.
    """


VARYING = _Varying()
_Key = TypeVar("_Key", int, str)
_Element = TypeVar("_Element", ValueShape, Truth)
Value = ValueShape | int | _Varying | None
Mask = Truth | int | _Varying | None
SAME = ValueShape(1, ZEROS)


def of_numbers(numbers: Sequence[int]) -> ValueShape | None:
    """A value that is known in every lane."""
    found = normal(tuple(numbers), 1)
    return None if found is None else ValueShape(1, found[1], found[0])


def shape(value: Value, bits: int = 32) -> ValueShape | None:
    """A value as a shape."""
    if isinstance(value, int):
        return ValueShape(1, ZEROS, (value & (1 << bits) - 1,))
    return None if isinstance(value, _Varying) else value


def truth(mask: Mask) -> Truth | None:
    """A mask as rows."""
    if not isinstance(mask, int):
        return None if isinstance(mask, _Varying) else mask
    return Truth(1, bool(mask & FULL)) if mask & FULL in (0, FULL) else None


def spread(value: ValueShape, rows: int) -> ValueShape | None:
    """The same with more rows."""
    if rows <= value.rows:
        return value if rows == value.rows else None
    found = normal(value.offsets, rows)
    if found is None:
        return None
    bases = value.bases
    if bases is not None:
        bases = tuple(bases[n * value.rows // rows] + found[0][n] for n in range(rows))
    return ValueShape(rows, found[1], bases, value.given)


def together(*values: ValueShape, flat: bool = False) -> list[ValueShape] | None:
    """With equal numbers of rows; `flat`: with as many as make all of them flat."""
    rows = max(value.rows for value in values)
    if all(value.rows == rows and (value.flat or not flat) for value in values):
        return list(values)
    if flat:
        counts = [uniform_rows(value.offsets, value.rows) for value in values]
        rows = max((rows if count is None else count) for count in counts)
        if None in counts:
            return None
    found = [spread(value, rows) for value in values]
    return None if None in found else [value for value in found if value is not None]


def join(a: ValueShape | None, b: ValueShape | None) -> ValueShape | None:
    """What holds of a value that is one or the other, in all active lanes alike."""
    if a is None or b is None or a == b:
        return a if a == b else None
    for rows in ROWS:
        one, two = spread(a, rows), spread(b, rows)
        if one is not None and two is not None and one.offsets == two.offsets:
            bases = one.bases if one.bases == two.bases else None
            return ValueShape(rows, one.offsets, bases, a.given or b.given)
    return None


def join_masks(a: Truth | None, b: Truth | None) -> Truth | None:
    """The same of masks."""
    if a is None or b is None:
        return None
    return Truth(max(a.rows, b.rows), a.known if a.known == b.known else None, a.given or b.given)


def mixed(new: ValueShape | None, old: ValueShape | None, guard: Truth | None) -> ValueShape | None:
    """A value that some lanes have written: those of a guard."""
    if guard is not None and guard.known is not None:
        return new if guard.known else old
    if new is not None and new == old and new.bases is not None:
        return new
    found = None if guard is None else join(new, old)
    if found is None or guard is None:
        return None
    wide = spread(found, max(found.rows, guard.rows))
    return None if wide is None else wide._replace(given=wide.given or guard.given)


class KnownState(NamedTuple):
    """What is known before an instruction; what is missing is varying.

    Attributes:
        regs: by number, uniform ones from `UNIFORM_BASE`.
        preds: likewise.
        flags: by letter.
    """

    regs: dict[int, ValueShape]
    preds: dict[int, Truth]
    flags: dict[str, Truth]

    @classmethod
    def empty(cls) -> KnownState:
        """Nothing known."""
        return cls({}, {}, {})

    def copy(self) -> KnownState:
        """As it is now."""
        return KnownState(dict(self.regs), dict(self.preds), dict(self.flags))

    def joined(self, other: KnownState) -> KnownState:
        """What holds on both ways."""
        regs = _joined(self.regs, other.regs, join)
        preds = _joined(self.preds, other.preds, join_masks)
        flags = _joined(self.flags, other.flags, join_masks)
        return KnownState(regs, preds, flags)


def _joined(
    a: dict[_Key, _Element], b: dict[_Key, _Element], how: Callable[[Any, Any], _Element | None]
) -> dict[_Key, _Element]:
    """What holds on both ways of what is known on both."""
    found = {key: how(value, b[key]) for key, value in a.items() if key in b}
    return {key: value for key, value in found.items() if value is not None}


class _UnknownError(Exception):
    """An instruction of which nothing is known here."""


def of_block(block: tuple[int, int, int] | None) -> list[ValueShape | None]:
    """What tid of each axis is in every warp of a block; None: of any block."""
    if block is None:
        return [None] * len(THREAD_REGISTERS)
    made: list[ValueShape | None] = []
    for axis in range(len(THREAD_REGISTERS)):
        found = thread_offsets(block, axis)
        bases = None if found is None or found[1] is None else (found[1],)
        made.append(None if found is None else ValueShape(1, found[0], bases))
    return made


def of_rows(length: int) -> list[ValueShape | None]:
    """What tid of each axis is in warps that are made of rows of threads in x.

    Args:
        length: of a row, a divisor of 32; 0: not known.
    """
    if not length or LANES // length not in ROWS:
        return of_block(None)
    row = None if length == LANES else (0,)
    flat = ValueShape(LANES // length, ZEROS)
    return [ValueShape(1, tuple(n % length for n in LANE_IDS), row), flat, flat]


class ShapeMachine:
    """The machine interface on shapes.

    Attributes:
        state: before and behind the present instruction.
        guard: of the present instruction.
    """

    def __init__(self, threads: Sequence[ValueShape | None]) -> None:
        """Args: threads: what tid of each axis is (`of_block`)."""
        self._threads = threads
        self.state = KnownState.empty()
        self.guard: Truth | None = Truth(1, True)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """An operation without a rule: the same in all lanes if all its operands are."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in _PURE:
            raise _UnknownError(name)

        def apply(*operands: Any, **named: Any) -> Any:
            result = self._of_rows(operands)
            if result is None:
                return VARYING
            return Truth(result.rows, None, result.given) if name in _MASKS else result

        return apply

    def _of_rows(self, operands: Sequence[Any]) -> ValueShape | None:
        """What an operation lane by lane gives."""
        shapes: list[ValueShape] = []
        for each in operands:
            if isinstance(each, str | bool):
                continue
            if isinstance(each, Truth):
                shapes.append(ValueShape(each.rows, ZEROS, None, each.given))
                continue
            found = shape(each, 64)
            if found is None:
                return None
            shapes.append(found)
        if not shapes:
            return SAME
        same = together(*shapes, flat=True)
        if same is None:
            return None
        return ValueShape(same[0].rows, ZEROS, None, any(each.given for each in shapes))

    # ---- state -------------------------------------------------------------------------

    def reg(self, index: int) -> Value:
        return 0 if index == RZ else self.state.regs.get(index)

    def reg_pair(self, index: int) -> Value:
        return 0 if index == RZ else self.wide(self.reg(index), self.reg(index + 1))

    def _put(self, index: int, value: Value) -> None:
        found = mixed(shape(value), self.state.regs.get(index), self.guard)
        if found is None:
            self.state.regs.pop(index, None)
        else:
            self.state.regs[index] = found

    def reg_write(self, index: int, value: Value) -> None:
        if index != RZ:
            self._put(index, value)

    def reg_pair_write(self, index: int, value: Value) -> None:
        self.reg_write(index, self.lo(value))
        if index != RZ:
            self.reg_write(index + 1, self.hi(value))

    def ureg(self, index: int) -> Value:
        return 0 if index == RZ else self.state.regs.get(UNIFORM_BASE + index, SAME)

    def ureg_pair(self, index: int) -> Value:
        return 0 if index == RZ else self.wide(self.ureg(index), self.ureg(index + 1))

    def ureg_write(self, index: int, value: Value) -> None:
        if index != RZ:
            found = shape(value)
            known = found is not None and found.uniform and not found.given
            self._put(UNIFORM_BASE + index, found if known else SAME)

    def _mask_of(self, mask: Mask, old: Truth | None) -> Truth | None:
        new, guard = truth(mask), self.guard
        if guard is not None and guard.known is not None:
            return new if guard.known else old
        if guard is None or new is None or old is None:
            return None
        both = join_masks(new, old)
        return None if both is None else join_masks(both, guard._replace(known=both.known))

    def pred(self, index: int) -> Mask:
        return FULL if index == PT else self.state.preds.get(index)

    def pred_write(self, index: int, value: Mask) -> None:
        if index != PT:
            self._keep(self.state.preds, index, self._mask_of(value, self.state.preds.get(index)))

    def upred(self, index: int) -> Mask:
        return FULL if index == PT else self.state.preds.get(UNIFORM_BASE + index, Truth(1))

    def upred_write(self, index: int, value: Mask) -> None:
        if index != PT:
            self.state.preds[UNIFORM_BASE + index] = Truth(1)

    def cc_read(self, flag: str) -> Mask:
        return self.state.flags.get(flag)

    def cc_write(self, flag: str, value: Mask) -> None:
        self._keep(self.state.flags, flag, self._mask_of(value, self.state.flags.get(flag)))

    @staticmethod
    def _keep(where: dict[Any, Truth], key: Any, value: Truth | None) -> None:
        if value is None:
            where.pop(key, None)
        else:
            where[key] = value

    def const(self, bank: int, offset: int) -> Value:
        return SAME

    const_pair = const

    def const_load(self, bank: Value, offset: Value, size: int, signed: bool) -> list[Value]:
        return [self._of_rows((bank, offset)) or VARYING] * max(1, size // 4)

    def sreg(self, index: int) -> Value:
        if index in LANE_REGISTERS:
            return of_numbers(LANE_REGISTERS[index])
        if index in THREAD_REGISTERS:
            return self._threads[THREAD_REGISTERS[index]]
        return SAME if index in _SAME_SREGS else None

    def sreg_coupled(self, index: int) -> Value:
        return None

    def lane_id(self) -> Value:
        return of_numbers(LANE_IDS)

    def lanes(self) -> Mask:
        return None

    active = lanes

    # ---- masks -------------------------------------------------------------------------

    def mask(self, bits: int) -> Mask:
        return bits & FULL

    def true(self) -> Mask:
        return FULL

    def false(self) -> Mask:
        return 0

    def mand(self, a: Mask, b: Mask) -> Mask:
        one, two = truth(a), truth(b)
        for known, other in ((one, two), (two, one)):
            if known is not None and known.known is not None:
                return other if known.known else 0
        return self._both(one, two)

    def mor(self, a: Mask, b: Mask) -> Mask:
        one, two = truth(a), truth(b)
        for known, other in ((one, two), (two, one)):
            if known is not None and known.known is not None:
                return FULL if known.known else other
        return self._both(one, two)

    def mxor(self, a: Mask, b: Mask) -> Mask:
        return self._both(truth(a), truth(b))

    @staticmethod
    def _both(a: Truth | None, b: Truth | None) -> Truth | None:
        if a is None or b is None:
            return None
        return Truth(max(a.rows, b.rows), None, a.given or b.given)

    def mnot(self, a: Mask) -> Mask:
        found = truth(a)
        if found is None or found.known is None:
            return found
        return found._replace(known=not found.known)

    def mselect(self, c: Mask, a: Mask, b: Mask) -> Mask:
        return self._both(truth(c), self._both(truth(a), truth(b)))

    def from_mask(self, a: Mask) -> Value:
        found = truth(a)
        if found is None:
            return None
        known = None if found.known is None else (int(found.known),) * found.rows
        return ValueShape(found.rows, ZEROS, known, found.given)

    def ballot(self, c: Mask) -> Value:
        return SAME

    # ---- integers ----------------------------------------------------------------------

    def _numbers(self, a: Value, b: Value, known: Callable[[int, int], int]) -> ValueShape | None:
        """An operation on what is known in every lane."""
        rows = []
        for value in (shape(a, 64), shape(b, 64)):
            if value is None or value.bases is None or value.given:
                return None
            bases, count = value.bases, value.rows
            rows.append([bases[row_of(n, count)] + value.offsets[n] for n in range(LANES)])
        return of_numbers([known(x, y) for x, y in zip(*rows, strict=True)])

    def _sum(self, a: Value, b: Value, sign: int, bits: int) -> Value:
        one, two = shape(a, bits), shape(b, bits)
        same = None if one is None or two is None else together(one, two)
        if same is None:
            return None
        one, two = same
        offsets = one.offsets
        if not two.flat:
            offsets = tuple(x + sign * y for x, y in zip(one.offsets, two.offsets, strict=True))
        found = normal(offsets, one.rows)
        if found is None:
            return None
        bases = None
        if one.bases is not None and two.bases is not None:
            sums = zip(one.bases, two.bases, found[0], strict=True)
            bases = tuple(x + sign * y + z & (1 << bits) - 1 for x, y, z in sums)
        return ValueShape(one.rows, found[1], bases, one.given or two.given)

    def _scaled(self, a: ValueShape | None, factor: int, bits: int) -> Value:
        if a is None:
            return None
        found = normal(tuple(n * factor for n in a.offsets), a.rows)
        if found is None:
            return None
        bases = None
        if a.bases is not None:
            pairs = zip(a.bases, found[0], strict=True)
            bases = tuple(x * factor + more & (1 << bits) - 1 for x, more in pairs)
        return ValueShape(a.rows, found[1], bases, a.given)

    def _product(self, a: Value, b: Value, bits: int) -> Value:
        for factor, other in ((shape(a, bits), b), (shape(b, bits), a)):
            if factor is not None and factor.uniform and factor.bases is not None:
                number = factor.bases[0]
                number -= (1 << bits) * (number >> bits - 1 & 1)
                return self._scaled(shape(other, bits), number, bits)
        return self._of_rows((a, b))

    def add(self, a: Value, b: Value) -> Value:
        return self._sum(a, b, 1, 32)

    def sub(self, a: Value, b: Value) -> Value:
        return self._sum(a, b, -1, 32)

    def mul(self, a: Value, b: Value) -> Value:
        return self._product(a, b, 32)

    def and_(self, a: Value, b: Value) -> Value:
        found = self._numbers(a, b, lambda x, y: x & y & FULL) or self._of_rows((a, b))
        if found is not None:
            return found
        for mask, other in ((a, shape(b)), (b, shape(a))):
            if (
                isinstance(mask, int)
                and other is not None
                and not (mask & FULL) & (mask & FULL) + 1
            ):
                fits = max(other.offsets) <= mask & FULL
                return other._replace(bases=None, given=True) if fits else None
        return None

    def not_(self, a: Value) -> Value:
        return self._sum(-1, a, -1, 32)

    def shl(self, a: Value, n: Value) -> Value:
        count = shape(n)
        if count is not None and count.uniform and count.bases is not None:
            moved = count.bases[0]
            return self._scaled(shape(a), 1 << moved, 32) if moved < 32 else 0
        return self._of_rows((a, n))

    def _right(self, a: Value, n: Value) -> Value:
        found, value = self._of_rows((a, n)), shape(a)
        if found is not None or value is None or not isinstance(n, int):
            return found
        return ValueShape(value.rows, ZEROS, None, True) if max(value.offsets) < 1 << n else None

    def shr(self, a: Value, n: Value) -> Value:
        return self._numbers(a, n, lambda x, y: (x & FULL) >> y) or self._right(a, n)

    sar = wshr = wsar = _right

    def select(self, c: Mask, a: Value, b: Value) -> Value:
        return mixed(shape(a), shape(b), truth(c))

    def wselect(self, c: Mask, a: Value, b: Value) -> Value:
        return mixed(shape(a, 64), shape(b, 64), truth(c))

    def _compared(self, a: Value, b: Value) -> Mask:
        one, two = shape(a, 64), shape(b, 64)
        if one is None or two is None:
            return None
        found = self._of_rows((one, two))
        if found is not None:
            return Truth(found.rows, None, found.given)
        same = together(one, two)
        if same is None or same[0].offsets != same[1].offsets:
            return None
        return Truth(same[0].rows, None, True)

    eq = ult = slt = weq = wult = wslt = _compared

    def bit(self, a: Value, n: int) -> Mask:
        found = self._of_rows((a,))
        return None if found is None else Truth(found.rows, None, found.given)

    # ---- 64 bits -----------------------------------------------------------------------

    def _carried(self, value: ValueShape | None) -> ValueShape | None:
        """A word as 64 bits, or the low word's carry left out: so unless it wraps."""
        if value is None:
            return None
        return value if value.flat else value._replace(given=True)

    def wide(self, lo: Value, hi: Value) -> Value:
        low, high = self._carried(shape(lo)), shape(hi)
        if low is None or high is None or not high.flat:
            return None
        same = together(low, high)
        if same is None:
            return None
        bases = None
        if same[0].bases is not None and same[1].bases is not None:
            pairs = zip(same[0].bases, same[1].bases, strict=True)
            bases = tuple(x & FULL | (y & FULL) << 32 for x, y in pairs)
        return ValueShape(same[0].rows, same[0].offsets, bases, low.given or high.given)

    def zext(self, a: Value) -> Value:
        return self.wide(a, 0)

    def sext(self, a: Value) -> Value:
        value = self._carried(shape(a))
        if value is None or value.bases is None:
            return value
        signed = (n & FULL for n in value.bases)
        words = tuple(n - (1 << 32) * (n >> 31) & (1 << 64) - 1 for n in signed)
        return value._replace(bases=words)

    def lo(self, w: Value) -> Value:
        value = shape(w, 64)
        if value is None or value.bases is None:
            return value
        return value._replace(bases=tuple(base & FULL for base in value.bases))

    def hi(self, w: Value) -> Value:
        value = self._carried(shape(w, 64))
        if value is None:
            return None
        bases = value.bases
        known = None if bases is None or not value.flat else tuple(b >> 32 & FULL for b in bases)
        return ValueShape(value.rows, ZEROS, known, value.given)

    def wadd(self, a: Value, b: Value) -> Value:
        return self._sum(a, b, 1, 64)

    def wsub(self, a: Value, b: Value) -> Value:
        return self._sum(a, b, -1, 64)

    def wmul(self, a: Value, b: Value) -> Value:
        return self._product(a, b, 64)

    def wshl(self, a: Value, n: Value) -> Value:
        if isinstance(n, int):
            return self._scaled(shape(a, 64), 1 << n, 64) if n < 64 else 0
        return self._of_rows((a, n))

    def lane_read(self, a: Value, lane: Value) -> Value:
        return self._of_rows((lane,))

    # ---- memory and control ----------------------------------------------------------------

    def load(self, space: str, address: Value, size: int, signed: bool) -> list[Value]:
        return [VARYING] * max(1, size // 4)

    def atomic(self, *operands: Any, **named: Any) -> Value:
        return None

    def in_window(self, address: Value) -> Mask:
        return None

    def barrier_result(self) -> tuple[Value, Mask]:
        return VARYING, VARYING

    def _nothing(self, *operands: Any, **named: Any) -> None:
        """Control, stores: they change no register."""

    store = fence = branch = push = pop = call = exit = barrier = _nothing
    open_barrier = converge = leave_barrier = yield_turn = _nothing

    def pc(self) -> NoReturn:
        """Code addresses are those of a launch, which offsets in a section are not."""
        raise _UnknownError("pc")

    next_pc = pc

    def gap(self, what: str) -> NoReturn:
        raise _UnknownError(what)

    def warp_error(self, code: str, lanes: Mask = None, detail: str = "") -> NoReturn:
        raise _UnknownError(code)

    @contextmanager
    def only(self, mask: Mask) -> Iterator[None]:
        """Some of the executing lanes."""
        kept, self.guard = self.guard, None
        yield
        self.guard = kept


def _answering(operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation of the machine that answers `VARYING` where nothing is known."""

    @functools.wraps(operation)
    def answer(machine: ShapeMachine, *operands: Any, **named: Any) -> Any:
        found = operation(machine, *operands, **named)
        return VARYING if found is None else found

    return answer


for _name in (
    "reg reg_pair ureg ureg_pair pred upred cc_read sreg sreg_coupled lane_id lanes active mand "
    "mor mxor mnot mselect from_mask add sub mul and_ not_ shl shr sar wshr wsar select wselect eq "
    "ult slt weq wult wslt bit wide zext sext lo hi wadd wsub wmul wshl lane_read atomic in_window"
).split():
    setattr(ShapeMachine, _name, _answering(vars(ShapeMachine)[_name]))

_PURE = frozenset(
    "or_ xor popc clz brev wand wor wxor wnot fadd fmul ffma ftz flt feq fnan fround mufu dadd "
    "dmul dfma dlt deq dnan dround f32_to_f64 f64_to_f32 f16_to_f64 f64_to_f16 int_to_f64 "
    "int_to_f32 f64_to_int".split()
)
_MASKS = frozenset("flt feq fnan dlt deq dnan".split())

UNKNOWN = (_UnknownError, AttributeError, KeyError, TypeError, ValueError, IndexError)
"""What an instruction raises of which nothing is known here."""
