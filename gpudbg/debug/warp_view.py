"""Warps and lanes as scripts see them: arrays of 32 values, writable one by one.

w = session.warp(3)
w.R[4]              # 32 values, uint32
w.lane(5).R[4]      # one value, int
w.R[4] = 7          # all lanes
w.R[4, 5] = 7       # one lane (w.R[4][5] = 7 is refused: what R[4] gives is a copy)
w.F[4], w.D[4], w.R["R4"], w.R[4:8]
w.lane(5).P[0] = True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpudbg import html
from gpudbg.answers.words import dim
from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.values import shared_registers
from gpudbg.debug.values.lane_groups import LaneGroup, lane_groups
from gpudbg.debug.values.lanes import FLAGS, LANES, RZ, array_mask, fixed, mask_array
from gpudbg.errors import UsageError
from gpudbg.public import public_names
from gpudbg.validation import text as given_text
from gpudbg.validation import whole

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

Dim3 = tuple[int, int, int]


class _File:
    """What an index of `R` or `P` may be: a number, a name, a slice, or one of those and a lane.

    >>> warp = session.warp()
    >>> warp.R[4, 5] = 70
    >>> int(warp.R[4][5]), int(warp.R["R4"][5]), warp.R[4:6, 5].tolist(), warp.R[4:6].shape
    (70, 70, [70, 0], (2, 32))
    """

    prefixes = ""
    always: ClassVar[dict[str, int]] = {}
    """Names without a number."""

    def __init__(self, view: WarpView, lane: int | None = None) -> None:
        self._view = view
        self._lane = lane

    @property
    def _state(self) -> WarpState:
        # Asked for each time: what is kept beyond its session must not tell old values.
        return self._view.state

    def _whose(self) -> str:
        """The warp or lane that it belongs to, for `repr`."""
        if self._view.closed:
            return "a warp of a closed session"
        lane = "" if self._lane is None else f"lane {self._lane} of "
        return f"{lane}warp {self._state.slot} on sm {self._state.sm}"

    __dir__ = public_names

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __len__(self) -> int:
        raise NotImplementedError

    def _get(self, index: int) -> NDArray[Any]:
        """The 32 lanes' values, a copy."""
        raise NotImplementedError

    def _set(self, index: int, values: NDArray[Any]) -> None:
        """Put 32 values there."""
        raise NotImplementedError

    def _values(self, value: Any) -> NDArray[Any]:
        """What is assigned, as the file's numbers."""
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        rows, lane = self._place(index)
        if isinstance(rows, int):
            values = self._get(rows)
            return fixed(values) if lane is None else values[lane].item()
        made = np.array([self._get(n) for n in rows]).reshape(len(rows), LANES)
        return fixed(made if lane is None else made[:, lane].copy())

    def __setitem__(self, index: Any, value: Any) -> None:
        rows, lane = self._place(index)
        many = [rows] if isinstance(rows, int) else list(rows)
        values = self._values(value)
        shape: tuple[int, ...] = () if isinstance(rows, int) else (len(many),)
        if lane is None:
            shape = (*shape, LANES)
        try:
            wide = np.broadcast_to(values, shape)
        except ValueError:
            raise UsageError(
                f"values of shape {values.shape} do not fill {shape}",
                "one value, or one for each of the 32 lanes",
            ) from None
        self._state.note_edit()
        for number, row in enumerate(many):
            new = wide if isinstance(rows, int) else wide[number]
            if lane is not None:
                old = self._get(row)
                old[lane] = new
                new = old
            self._set(row, new)

    def _place(self, index: Any) -> tuple[int | range, int | None]:
        """(register or registers, lane or None for all) of an index."""
        lane = self._lane
        if isinstance(index, tuple) and len(index) == 2 and lane is None:
            index, lane = index[0], whole(index[1], "lane", 0, LANES - 1)
        if isinstance(index, slice):
            ends = [self._end(index.start), self._end(index.stop), index.step]
            return range(*slice(*ends).indices(len(self))), lane
        return self._number(index), lane

    def _number(self, index: Any) -> int:
        if isinstance(index, str):
            name = index.strip().removeprefix("$").upper()
            if name in self.always:
                return self.always[name]
            digits = name[1:].isascii() and name[1:].isdecimal() and len(name) <= 4
            if name[:1] not in tuple(self.prefixes) or not digits:
                names = " or ".join(f"{p}4" for p in self.prefixes)
                shown = index if len(index) < 20 else f"{index[:16]}…"
                raise UsageError(f"no register {shown!r}", f"a number, or a name such as {names}")
            return int(name[1:])
        return whole(index, "register")

    def _end(self, index: Any) -> int | None:
        """An end of a slice, which may be a name: `R["R4":"R8"]`."""
        return None if index is None else self._number(index)


class RegisterFile(_File):
    """R0, R1, … of a warp, as words, floats, or pairs of registers.

    An item is the 32 lanes' values (a read-only copy; of a lane's file one number); assign to the
    item: `R[4] = 7`, `R[4, lane] = 7`, `R[4:8] = 0`.  Floats given to `R` are stored as float32;
    what does not fit in a register is refused.

    Raises:
        UsageError: no such register, or values that do not fill it.
    """

    prefixes = "R"
    always: ClassVar[dict[str, int]] = {"RZ": RZ}
    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.uint32)
    kind = "registers"

    def __repr__(self) -> str:
        rows = "" if self._view.closed else f" R0 to R{len(self) - 1}"
        return f"<{self.kind}{rows} of {self._whose()}>"

    def __len__(self) -> int:
        return max(int(self._state.R.shape[0]) - self._words() + 1, 0)

    def _words(self) -> int:
        """Registers that hold one value."""
        return self.dtype.itemsize // 4

    def _row(self, index: int) -> NDArray[np.uint32]:
        if index == RZ:
            return np.zeros(LANES, np.uint32)
        if not 0 <= index < int(self._state.R.shape[0]):
            last = int(self._state.R.shape[0]) - 1
            raise UsageError(f"no register R{index}", f"the kernel has R0 to R{last}; RZ reads 0")
        row: NDArray[np.uint32] = self._state.R[index]
        return row

    def _rows(self, index: int) -> list[NDArray[np.uint32]]:
        """The registers that hold a value, the lowest bits first."""
        return [self._row(index if index == RZ else index + n) for n in range(self._words())]

    def _get(self, index: int) -> NDArray[Any]:
        words = np.ascontiguousarray(np.stack(self._rows(index), axis=-1))
        return words.view(self.dtype).reshape(LANES)

    def _set(self, index: int, values: NDArray[Any]) -> None:
        rows = self._rows(index)
        if index == RZ:
            raise UsageError("RZ is always 0")
        words = np.ascontiguousarray(values, self.dtype).view(np.uint32).reshape(LANES, -1)
        for number, row in enumerate(rows):
            row[:] = words[:, number]

    def _values(self, value: Any) -> NDArray[Any]:
        array = _numbers(value)
        bits = 8 * self.dtype.itemsize
        if self.dtype.kind == "f" or array.dtype.kind == "f":
            # A register of words takes floats by their bits.
            return _floats(array, bits).view(self.dtype)
        numbers = [int(v) for v in array.reshape(-1).tolist()]
        wrong = [v for v in numbers if not -(1 << bits - 1) <= v < 1 << bits]
        if wrong:
            raise UsageError(f"{wrong[0]:#x} does not fit in {bits} bits", self.kind)
        mask = (1 << bits) - 1
        return np.array([v & mask for v in numbers], self.dtype).reshape(array.shape)


class FloatFile(RegisterFile):
    """The registers as float32: `F[4]` is R4."""

    prefixes = "FR"
    dtype = np.dtype(np.float32)
    kind = "floats of registers"


class PairFile(RegisterFile):
    """Pairs of registers: `L[4]` is R5:R4 as uint64, of any register but the last."""

    prefixes = "LR"
    dtype = np.dtype(np.uint64)
    kind = "pairs of registers"


class DoubleFile(RegisterFile):
    """Pairs of registers as float64: `D[4]` is R5:R4."""

    prefixes = "DR"
    dtype = np.dtype(np.float64)
    kind = "doubles of registers"


def _floats(array: NDArray[Any], bits: int) -> NDArray[Any]:
    """Numbers as floats of 32 or 64 bits."""
    with np.errstate(over="ignore"):
        made: NDArray[Any] = array.astype(f"f{bits // 8}")
        wrong = np.isinf(made) & np.isfinite(array.astype(np.float64))
    if wrong.any():
        raise UsageError(f"{array[wrong].flat[0]} is too large for a float of {bits} bits")
    return made


def _numbers(value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind == "O" and all(isinstance(v, int) for v in array.reshape(-1).tolist()):
        return array
    if array.dtype.kind not in "biuf":
        raise UsageError(f"a register holds numbers, not {type(value).__name__}")
    return array


class PredicateFile(_File):
    """P0..P6 of a warp: 32 booleans, or one of a lane; P7 is PT, always true.

    As `RegisterFile`: `P["P0"]`, `P[0, lane] = True`, `P[0:3] = False`.
    """

    prefixes = "P"
    always: ClassVar[dict[str, int]] = {"PT": 7}

    def __repr__(self) -> str:
        return f"<predicates of {self._whose()}>"

    def __len__(self) -> int:
        return 8

    def _check(self, index: int) -> None:
        if not 0 <= index <= 7:
            raise UsageError(f"no predicate P{index}", "P0 to P6, and P7 = PT")

    def _get(self, index: int) -> NDArray[Any]:
        self._check(index)
        return mask_array(0xFFFFFFFF if index == 7 else int(self._state.predicates[index]))

    def _set(self, index: int, values: NDArray[Any]) -> None:
        self._check(index)
        if index == 7:
            raise UsageError("PT is always true")
        self._state.predicates[index] = array_mask(values)

    def _values(self, value: Any) -> NDArray[Any]:
        array = _numbers(value)
        wrong = array[(array != 0) & (array != 1)]
        if wrong.size:
            raise UsageError(f"a predicate is True or False, not {wrong.flat[0]}")
        return array.astype(bool)


class UniformFile(RegisterFile):
    """UR0, UR1, … of a warp from sm_75 on: what each lane's group sees; older ones have none."""

    kind = "uniform registers"

    def __repr__(self) -> str:
        return f"<{self.kind} of {self._whose()}>"

    def __len__(self) -> int:
        return shared_registers.uniform_count(self._state)

    def _number(self, index: Any) -> int:
        name = index.strip().removeprefix("$").upper() if isinstance(index, str) else ""
        return super()._number("R" + name.removeprefix("UR") if name.startswith("UR") else index)

    def _row(self, index: int) -> NDArray[np.uint32]:
        if index == RZ:
            return np.zeros(LANES, np.uint32)
        if not 0 <= index < len(self):
            known = f"the architecture has UR0 to UR{len(self) - 1}" if len(self) else "it has none"
            raise UsageError(f"no uniform register UR{index}", known)
        row: NDArray[np.uint32] = self._state.UR[index]
        return row


class UniformPredicateFile(PredicateFile):
    """UP0..UP6 of a warp from sm_75 on; 7 is UPT, always true."""

    def _number(self, index: Any) -> int:
        name = index.strip().removeprefix("$").upper() if isinstance(index, str) else ""
        return super()._number(name.removeprefix("U") if name.startswith("UP") else index)

    def _check(self, index: int) -> None:
        if not shared_registers.uniform_count(self._state):
            raise UsageError(f"no uniform predicate UP{index}", "the architecture has none")
        super()._check(index)

    def _get(self, index: int) -> NDArray[Any]:
        self._check(index)
        return mask_array(0xFFFFFFFF if index == 7 else int(self._state.uniform_predicates[index]))

    def _set(self, index: int, values: NDArray[Any]) -> None:
        self._check(index)
        if index == 7:
            raise UsageError("UPT is always true")
        self._state.uniform_predicates[index] = array_mask(values)


class LaneView:
    """One lane of a warp: a CUDA thread."""

    def __init__(self, view: WarpView, lane: int) -> None:
        self._view = view
        self.index = whole(lane, "lane", 0, LANES - 1)

    @property
    def R(self) -> RegisterFile:  # noqa: N802 - the registers' name in SASS
        """The lane's registers as ints."""
        return RegisterFile(self._view, self.index)

    @property
    def P(self) -> PredicateFile:  # noqa: N802 - the predicates' name in SASS
        """The lane's predicates as bools."""
        return PredicateFile(self._view, self.index)

    @property
    def F(self) -> FloatFile:  # noqa: N802 - as in expressions
        """The lane's registers as floats: `F[4]` is R4."""
        return FloatFile(self._view, self.index)

    @property
    def D(self) -> DoubleFile:  # noqa: N802 - as in expressions
        """Pairs of the lane's registers as doubles: `D[4]` is R5:R4."""
        return DoubleFile(self._view, self.index)

    @property
    def L(self) -> PairFile:  # noqa: N802 - as in expressions
        """Pairs of the lane's registers as 64-bit integers."""
        return PairFile(self._view, self.index)

    @property
    def UR(self) -> UniformFile:  # noqa: N802 - the uniform registers' name in SASS
        """Uniform registers as the lane's group sees them."""
        return UniformFile(self._view, self.index)

    @property
    def UP(self) -> UniformPredicateFile:  # noqa: N802 - the uniform predicates' name in SASS
        """Uniform predicates as the lane's group sees them."""
        return UniformPredicateFile(self._view, self.index)

    @property
    def CC(self) -> dict[str, bool]:  # noqa: N802 - the condition code's name in SASS
        """The lane's condition code: flags Z, S, C, O."""
        return {f: bool(m[self.index]) for f, m in self._view.CC.items()}

    @property
    def pc(self) -> int:
        """Offset of the instruction with which the lane goes on."""
        return self._view.offset(self._view.waiting_pc(self.index))

    @property
    def active(self) -> bool:
        """Whether the next instruction of the warp is this lane's too."""
        return bool(self._view.state.active >> self.index & 1)

    @property
    def exited(self) -> bool:
        """Whether the lane has ended."""
        return bool(self._view.state.exited >> self.index & 1)

    @property
    def thread(self) -> Dim3:
        """threadIdx of the lane: x, y, z."""
        return thread_of(self._view.state, self.index)

    @property
    def block(self) -> Dim3:
        """blockIdx of the lane's block: x, y, z."""
        return self._view.block

    def evaluate(self, text: str) -> Any:
        """An expression's value in this lane.

        Raises:
            CommandError: it has no value here.
        """
        from gpudbg.errors import CommandError
        from gpudbg.expr import evaluate, parse

        result = evaluate(parse(given_text(text, "expression")), self._view.context())
        if not result.valid[self.index]:
            raise CommandError(f"{text}: no value in lane {self.index}: {result.why}")
        return result.values[self.index].item()

    __dir__ = public_names

    def _repr_html_(self) -> str:
        return html.heading(repr(self)) if self._view.closed else lane_html(self)

    def __repr__(self) -> str:
        thread = "" if self._view.closed else f", thread {self.thread}"
        return f"<lane {self.index} of {self._view!r}{thread}>"


class WarpView:
    """A resident warp of the session.

    >>> session.step(6).kind
    'step'
    >>> warp = session.warp()
    >>> warp.R[4].shape, warp.lane(5).R[4], int(warp.active.sum())
    ((32,), 0, 32)
    >>> warp.R[4] = np.arange(32)
    >>> warp.lane(5).R[4] = 70
    >>> warp.R[4][:7]
    array([ 0,  1,  2,  3,  4, 70,  6], dtype=uint32)
    >>> warp.lane(5).evaluate("$R4 + threadIdx.x")
    75
    """

    def __init__(self, inferior: Inferior, state: WarpState) -> None:
        self._inferior = inferior
        self._state = state

    @property
    def closed(self) -> bool:
        """Whether its session is closed."""
        return self._inferior.closed

    @property
    def state(self) -> WarpState:
        """What the machine has of it.

        Raises:
            UsageError: the session is closed.
            CommandError: its machine runs in another thread.
        """
        self._inferior.require_open()
        self._inferior.require_here()
        return self._state

    @property
    def sm(self) -> int:
        """Index of the SM that it is on."""
        return self.state.sm

    @property
    def index(self) -> int:
        """Warp slot on the SM."""
        return self.state.slot

    @property
    def block(self) -> Dim3:
        """blockIdx of its CTA."""
        return self.state.cta.block

    @property
    def pc(self) -> int:
        """Offset in the kernel of the instruction it stands at: the next one, in a deadlock the
        barrier it waits at.
        """
        return self.offset(standing_pc(self._inferior, self.state))

    def waiting_pc(self, lane: int) -> int:
        """The code address of the instruction with which a lane goes on."""
        from gpudbg.debug.values.backtrace import waiting_pc

        return waiting_pc(self._inferior, self.state, lane)

    def offset(self, pc: int) -> int:
        """A code address as an offset in the kernel."""
        return self._inferior.symbols.offset(pc)

    @property
    def CC(self) -> dict[str, NDArray[np.bool_]]:  # noqa: N802 - the condition code's name in SASS
        """Condition code: `CC["C"]` is the 32 lanes' carry; flags Z, S, C, O."""
        return {f: fixed(mask_array(int(self.state.cc[i]))) for i, f in enumerate(FLAGS)}

    @property
    def status(self) -> str:
        """ready, barrier, trap, error or exited."""
        return self.state.status

    @property
    def active(self) -> NDArray[np.bool_]:
        """Lanes that run the next instruction."""
        return fixed(mask_array(self.state.active))

    @property
    def active_mask(self) -> int:
        """The same as a lane mask."""
        return self.state.active

    @property
    def exited(self) -> NDArray[np.bool_]:
        """Lanes that have ended."""
        return fixed(mask_array(self.state.exited))

    @property
    def R(self) -> RegisterFile:  # noqa: N802 - the registers' name in SASS
        """Registers: `R[4]` is the 32 lanes' values."""
        return RegisterFile(self)

    @property
    def P(self) -> PredicateFile:  # noqa: N802 - the predicates' name in SASS
        """Predicates: `P[0]` is the 32 lanes' values."""
        return PredicateFile(self)

    @property
    def F(self) -> FloatFile:  # noqa: N802 - as in expressions
        """Registers as float32: `F[4]` is R4 in 32 lanes."""
        return FloatFile(self)

    @property
    def D(self) -> DoubleFile:  # noqa: N802 - as in expressions
        """Pairs of registers as float64: `D[4]` is R5:R4 in 32 lanes."""
        return DoubleFile(self)

    @property
    def L(self) -> PairFile:  # noqa: N802 - as in expressions
        """Pairs of registers as uint64: `L[4]` is R5:R4 in 32 lanes."""
        return PairFile(self)

    @property
    def UR(self) -> UniformFile:  # noqa: N802 - the uniform registers' name in SASS
        """Uniform registers, from sm_75 on: `UR[4]` is what the 32 lanes' groups see."""
        return UniformFile(self)

    @property
    def UP(self) -> UniformPredicateFile:  # noqa: N802 - the uniform predicates' name in SASS
        """Uniform predicates, from sm_75 on: `UP[0]` is what the 32 lanes' groups see."""
        return UniformPredicateFile(self)

    @property
    def B(self) -> NDArray[np.uint32]:  # noqa: N802 - the convergence barriers' name in SASS
        """Convergence barriers, from sm_70 on: `B[0, lane]` is the mask of lanes that B0 of the
        lane waits for; shape (16, 32).
        """
        masks = [shared_registers.barrier_masks(self.state, lane) for lane in range(LANES)]
        return fixed(np.array(masks, np.uint32).T.copy())

    @property
    def groups(self) -> tuple[LaneGroup, ...]:
        """Lanes with one pc, from sm_70 on, that which runs next first: mask, pc (an offset),
        state, and what they wait for.
        """
        found = lane_groups(self.state)
        return tuple(replace(group, pc=self.offset(group.pc)) for group in found)

    @property
    def stack(self) -> tuple[tuple[str, int, int], ...]:
        """Divergence stack, top last: (kind, lane mask, target)."""
        return tuple((str(k), int(m), int(t)) for k, m, t in self.state.stack)

    @property
    def threads(self) -> NDArray[np.uint32]:
        """threadIdx of each lane, shape (32, 3)."""
        return fixed(np.asarray(self.state.tid).T.copy())

    def lane(self, index: int) -> LaneView:
        """A view of one lane of this warp.

        Args:
            index: 0 to 31.
        """
        return LaneView(self, index)

    def context(self) -> Any:
        """The context in which expressions of this warp are evaluated."""
        from gpudbg.debug.values.context import WarpContext

        return WarpContext(self._inferior, self.state)

    def evaluate(self, text: str) -> NDArray[Any]:
        """An expression's value in the 32 lanes (lanes without a value: 0)."""
        from gpudbg.expr import evaluate, parse

        tree = parse(given_text(text, "expression"))
        values: NDArray[Any] = evaluate(tree, self.context()).values
        return values

    def around(self, count: int) -> list[tuple[bool, int, str, str]]:
        """Instructions around the next one: (it is the next one, offset, text, source line)."""
        symbols, pc = self._inferior.symbols, standing_pc(self._inferior, self.state)
        rows = symbols.around(pc, count, count) if self.status != "exited" else []
        return [
            (row.pc == pc, row.offset, row.text, str(symbols.line(row.pc) or "")) for row in rows
        ]

    __dir__ = public_names

    def _repr_html_(self) -> str:
        return html.heading(repr(self)) if self.closed else warp_html(self)

    def __repr__(self) -> str:
        if self._inferior.closed:
            return "<warp of a closed session>"
        return f"<warp {self.index} on sm {self.sm}, block {self.block}, {self.status}>"


DRAWN_REGISTERS = 32
"""Registers of a warp that a notebook shows; the rest is counted."""
DRAWN_AROUND = 4
"""Instructions shown before and after the next one."""


def warp_html(view: WarpView) -> str:
    """A warp: its state, the code around its pc, lanes × registers."""
    lanes = range(32)
    active = view.active
    head = f"warp {view.index} on sm {view.sm}, block {dim(view.block)}: {view.status}"
    file = view.R
    shown = min(len(file), DRAWN_REGISTERS)
    rows = [[f"R{n}", *(f"{v:08x}" for v in file[n])] for n in range(shown)]
    rows += [[f"P{n}", *("1" if v else "0" for v in view.P[n])] for n in range(7)]
    rows.append(["active", *("#" if on else "_" for on in active)])
    more = len(file) - shown
    return (
        html.heading(head)
        + code_html(view)
        + html.table(("", *map(str, lanes)), rows)
        + (f"<p>… R{shown} to R{len(file) - 1}</p>" if more else "")
    )


def code_html(view: WarpView) -> str:
    """The instructions around a warp's next one."""
    rows = view.around(DRAWN_AROUND)
    return html.table(
        ("", "offset", "instruction", "source"),
        [("=>" if here else "", f"{offset:04x}", text, line) for here, offset, text, line in rows],
        [html.HERE if here else "" for here, *_ in rows],
    )


def lane_html(view: LaneView) -> str:
    """A lane: who it is and its registers."""
    word = "ended" if view.exited else "active" if view.active else "waiting"
    head = f"lane {view.index}: block {dim(view.block)} thread {dim(view.thread)}, {word}"
    file = view.R
    shown = min(len(file), DRAWN_REGISTERS)
    rows = [(f"R{n}", f"0x{file[n]:08x}", _signed(file[n]), _float(file[n])) for n in range(shown)]
    rows += [(f"P{n}", str(view.P[n]), "", "") for n in range(7)]
    more = f"<p>… R{shown} to R{len(file) - 1}</p>" if len(file) > shown else ""
    return html.heading(head) + html.table(("", "bits", "signed", "float"), rows) + more


def _signed(word: int) -> str:
    return str(word - (1 << 32) if word >> 31 else word)


def _float(word: int) -> str:
    import struct

    return f"{struct.unpack('<f', struct.pack('<I', word))[0]:.6g}"
