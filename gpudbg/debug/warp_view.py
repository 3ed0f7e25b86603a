"""Warps and lanes as scripts see them: arrays of 32 values, writable one by one.

w = session.warp(3)
w.R[4]              # 32 values, uint32
w.lane(5).R[4]      # one value, int
w.R[4] = 7          # all valid lanes
w.lane(5).P[0] = True
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.debug.focus import thread_of
from gpudbg.debug.given import text as given_text
from gpudbg.debug.given import whole
from gpudbg.debug.public import public_names
from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState

LANES = 32
RZ = 255
"""The register that reads 0 and swallows what is written."""
Dim3 = tuple[int, int, int]
FLAGS = "ZSCO"
"""Condition-code flags in bit order (P2R order)."""


def mask_array(mask: int) -> NDArray[np.bool_]:
    """A lane mask as 32 booleans."""
    return (np.uint32(mask) >> np.arange(LANES, dtype=np.uint32) & np.uint32(1)).astype(bool)


def array_mask(lanes: Any) -> int:
    """32 booleans as a lane mask."""
    return int(np.packbits(np.asarray(lanes, bool), bitorder="little").view("<u4")[0])


class RegisterFile:
    """R0, R1, … of a warp; an item is 32 values (a copy), or one value of a lane."""

    def __init__(self, state: WarpState, lane: int | None = None) -> None:
        self._state = state
        self._lane = lane

    __dir__ = public_names

    def __repr__(self) -> str:
        whose = f"warp {self._state.slot} on sm {self._state.sm}"
        lane = "" if self._lane is None else f"lane {self._lane} of "
        return f"<registers R0 to R{len(self) - 1} of {lane}{whose}>"

    def __len__(self) -> int:
        return int(self._state.R.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def _row(self, index: int) -> NDArray[np.uint32]:
        if index == RZ:
            return np.zeros(LANES, np.uint32)
        if not 0 <= index < len(self):
            raise UsageError(
                f"no register R{index}", f"the kernel has R0 to R{len(self) - 1}; RZ reads 0"
            )
        row: NDArray[np.uint32] = self._state.R[index]
        return row

    def __getitem__(self, index: int) -> Any:
        row = self._row(index)
        return row.copy() if self._lane is None else int(row[self._lane])

    def __setitem__(self, index: int, value: Any) -> None:
        row = self._row(index)
        if self._lane is None:
            row[:] = _u32(value)
        else:
            row[self._lane] = _u32(value)


def _u32(value: Any) -> Any:
    """Numbers or arrays as 32-bit patterns: floats by their bits, ints modulo 2**32."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype(np.float32).view(np.uint32)
    if array.dtype.kind == "O":
        return np.array([int(v) & 0xFFFFFFFF for v in np.atleast_1d(array)], np.uint32)
    return (array.astype(np.int64, copy=False) & 0xFFFFFFFF).astype(np.uint32)


class PredicateFile:
    """P0..P6 of a warp: 32 booleans, or one of a lane; P7 is PT, always true."""

    def __init__(self, state: WarpState, lane: int | None = None) -> None:
        self._state = state
        self._lane = lane

    __dir__ = public_names

    def __repr__(self) -> str:
        whose = f"warp {self._state.slot} on sm {self._state.sm}"
        return f"<predicates of {'' if self._lane is None else f'lane {self._lane} of '}{whose}>"

    def __len__(self) -> int:
        return 8

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def _check(self, index: int) -> None:
        if not 0 <= index <= 7:
            raise UsageError(f"no predicate P{index}", "P0 to P6, and P7 = PT")

    def __getitem__(self, index: int) -> Any:
        self._check(index)
        mask = 0xFFFFFFFF if index == 7 else int(self._state.predicates[index])
        return mask_array(mask) if self._lane is None else bool(mask >> self._lane & 1)

    def __setitem__(self, index: int, value: Any) -> None:
        self._check(index)
        if index == 7:
            raise UsageError("PT is always true")
        if self._lane is not None:
            old = int(self._state.predicates[index])
            bit = 1 << self._lane
            self._state.predicates[index] = old | bit if value else old & ~bit
        else:
            self._state.predicates[index] = array_mask(np.broadcast_to(np.asarray(value, bool), 32))


class LaneView:
    """One lane of a warp: a CUDA thread."""

    def __init__(self, view: WarpView, lane: int) -> None:
        self._view = view
        self.index = whole(lane, "lane", 0, LANES - 1)

    @property
    def R(self) -> RegisterFile:  # noqa: N802 - the registers' name in SASS
        """The lane's registers as ints."""
        return RegisterFile(self._view.state, self.index)

    @property
    def P(self) -> PredicateFile:  # noqa: N802 - the predicates' name in SASS
        """The lane's predicates as bools."""
        return PredicateFile(self._view.state, self.index)

    @property
    def CC(self) -> dict[str, bool]:  # noqa: N802 - the condition code's name in SASS
        """The lane's condition code: flags Z, S, C, O."""
        return {f: bool(m[self.index]) for f, m in self._view.CC.items()}

    @property
    def pc(self) -> int:
        """Offset of the instruction with which the lane goes on."""
        from gpudbg.debug.frames import waiting_pc

        return self._view.offset(waiting_pc(self._view.state, self.index))

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
        """threadIdx."""
        return thread_of(self._view.state, self.index)

    @property
    def block(self) -> Dim3:
        """blockIdx."""
        return self._view.block

    def evaluate(self, text: str) -> Any:
        """An expression's value in this lane.

        Raises:
            CommandError: it has no value here.
        """
        from gpudbg.debug.expr import evaluate, parse
        from gpudbg.errors import CommandError

        result = evaluate(parse(given_text(text, "expression")), self._view.context())
        if not result.valid[self.index]:
            raise CommandError(f"{text}: no value in lane {self.index}: {result.why}")
        return result.values[self.index].item()

    __dir__ = public_names

    def _repr_html_(self) -> str:
        from gpudbg.debug import html

        return html.heading(repr(self)) if self._view.closed else html.lane(self)

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

    def __init__(self, session: DebugSession, state: WarpState) -> None:
        self._session = session
        self._state = state

    @property
    def closed(self) -> bool:
        """Whether its session is closed."""
        return self._session.closed

    @property
    def state(self) -> WarpState:
        """What the machine has of it.

        Raises:
            UsageError: the session is closed.
        """
        self._session.require_open()
        return self._state

    @property
    def sm(self) -> int:
        """SM index."""
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
        """Offset of the next instruction in the kernel."""
        return self.offset(self.state.pc)

    def offset(self, pc: int) -> int:
        """A code address as an offset in the kernel."""
        return self._session.symbols.offset(pc)

    @property
    def CC(self) -> dict[str, NDArray[np.bool_]]:  # noqa: N802 - the condition code's name in SASS
        """Condition code: `CC["C"]` is the 32 lanes' carry; flags Z, S, C, O."""
        return {f: mask_array(int(self.state.cc[i])) for i, f in enumerate(FLAGS)}

    @property
    def status(self) -> str:
        """ready, barrier, trap, error or exited."""
        return self.state.status

    @property
    def active(self) -> NDArray[np.bool_]:
        """Lanes that run the next instruction."""
        return mask_array(self.state.active)

    @property
    def active_mask(self) -> int:
        """The same as a lane mask."""
        return self.state.active

    @property
    def exited(self) -> NDArray[np.bool_]:
        """Lanes that have ended."""
        return mask_array(self.state.exited)

    @property
    def R(self) -> RegisterFile:  # noqa: N802 - the registers' name in SASS
        """Registers: `R[4]` is the 32 lanes' values."""
        return RegisterFile(self.state)

    @property
    def P(self) -> PredicateFile:  # noqa: N802 - the predicates' name in SASS
        """Predicates: `P[0]` is the 32 lanes' values."""
        return PredicateFile(self.state)

    @property
    def stack(self) -> tuple[tuple[str, int, int], ...]:
        """Divergence stack, top last: (kind, lane mask, target)."""
        return tuple((str(k), int(m), int(t)) for k, m, t in self.state.stack)

    @property
    def threads(self) -> NDArray[np.uint32]:
        """threadIdx of each lane, shape (32, 3)."""
        return np.asarray(self.state.tid).T.copy()

    def lane(self, index: int) -> LaneView:
        """One lane."""
        return LaneView(self, index)

    def context(self) -> Any:
        """What expressions see of this warp."""
        from gpudbg.debug.context import WarpContext

        return WarpContext(self._session, self.state)

    def evaluate(self, text: str) -> NDArray[Any]:
        """An expression's value in the 32 lanes (lanes without a value: 0)."""
        from gpudbg.debug.expr import evaluate, parse

        tree = parse(given_text(text, "expression"))
        values: NDArray[Any] = evaluate(tree, self.context()).values
        return values

    def around(self, count: int) -> list[tuple[bool, int, str, str]]:
        """Instructions around the next one: (it is the next one, offset, text, source line)."""
        symbols, pc = self._session.symbols, self.state.pc
        rows = symbols.around(pc, count, count) if self.status != "exited" else []
        return [
            (row.pc == pc, row.offset, row.text, str(symbols.line(row.pc) or "")) for row in rows
        ]

    __dir__ = public_names

    def _repr_html_(self) -> str:
        from gpudbg.debug import html

        return html.heading(repr(self)) if self.closed else html.warp(self)

    def __repr__(self) -> str:
        if self._session.closed:
            return "<warp of a closed session>"
        return f"<warp {self.index} on sm {self.sm}, block {self.block}, {self.status}>"
