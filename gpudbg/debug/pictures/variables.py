"""The variables of the focused warp as a tree, of which only what is open is read."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures.lane_rows import result_row, with_changes
from gpudbg.debug.views.arguments import argument_rows
from gpudbg.errors import GpudbgError
from gpudbg.expr.types import Array, Pointer, Struct, spelled

if TYPE_CHECKING:
    from gpudbg.debug.pictures.lane_row import LaneRow
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.snapshot import WarpDetail
    from gpudbg.expr.evaluation import Result

ELEMENTS = 64
"""Most elements of an array that is open."""
DEEPEST = 12


@dataclass(frozen=True, slots=True)
class VariableLine:
    """A row of the tree.

    Attributes:
        path: the expression for its value; "" where it has none.
        name: as it stands under its parent.
        depth: how many parents it has.
        type: in C.
        text: the focused lane's value, or why there is none.
        lanes: a scalar or a pointer in 32 lanes.
        inner: whether it can be opened; `opened`: it is.
        changed: since the stop before.
    """

    path: str
    name: str
    depth: int
    type: str
    text: str = ""
    lanes: LaneRow | None = None
    inner: bool = False
    opened: bool = False
    changed: bool = False


class VariableTaker:
    """Reads variables at every stop and remembers what they were at the one before."""

    def __init__(self, session: DebugSession, opened: Set[str]) -> None:
        """Args: opened: paths of what is open; read at each stop."""
        self._session = session
        self._opened = opened
        self._function = ""
        self._before: dict[str, tuple[int, str, tuple[str, ...]]] = {}
        self._last: dict[str, tuple[int, str, tuple[str, ...]]] = {}

    def take(
        self, detail: WarpDetail, lane: int, stop: int
    ) -> tuple[tuple[VariableLine, ...], str]:
        """The rows, and what to say where there are none.

        Args:
            detail: the focused warp.
            lane: the focused lane.
            stop: number of the stop: what differs from an earlier one has changed.
        """
        known = self._session.context().variables()
        if known is None or not known.scopes():
            rows = tuple(
                VariableLine("", a.entry, 0, a.type, a.text) for a in argument_rows(self._session)
            )
            words = "Variables have names in a build with -G"
            return rows, words if not rows else f"{words}; these are the launch's arguments"
        self._function = known.frame.function
        lines: list[VariableLine] = []
        seen: set[str] = set()
        for parameters in (True, False):
            for variable, depth in known.variables():
                if variable.parameter == parameters:
                    hidden = variable.name in seen
                    seen.add(variable.name)
                    name = f"{variable.name}@{depth}" if hidden else variable.name
                    value = known.value(variable)
                    lines += self._tree(name, name, value, detail, lane, 0, stop, not hidden)
        return tuple(lines), "" if lines else "No variables in scope here"

    def _tree(
        self, path: str, name: str, value: Result, detail: WarpDetail, lane: int, depth: int,
        stop: int, may_open: bool,
    ) -> Iterator[VariableLine]:  # fmt: skip
        """A variable and, where it is open, what is in it."""
        inner = may_open and depth < DEEPEST and bool(_parts(path, value.type))
        opened = inner and path in self._opened
        line = VariableLine(path, name, depth, spelled(value.type), inner=inner, opened=opened)
        if isinstance(value.type, Struct | Array):
            changed = self._changed(path, self._bytes(value, lane), stop, detail)
            text = "" if opened else _folded(value.type)
            yield replace(line, text=text, changed=bool(changed))
        else:
            row = result_row(name, value, detail, lane, "variable", None)
            changed = self._changed(path, row.cells, stop, detail)
            row = with_changes(row, changed)
            text = row.focus_text if value.valid[lane] else value.why or "<optimized out>"
            yield replace(line, text=text, lanes=row, changed=bool(changed))
        for part, below in _parts(path, value.type) if opened else ():
            try:
                found = self._session.evaluate(below)
            except GpudbgError as error:
                yield VariableLine("", part, depth + 1, "", str(error).splitlines()[0])
                continue
            yield from self._tree(below, part, found, detail, lane, depth + 1, stop, True)

    def _bytes(self, value: Result, lane: int) -> tuple[str, ...]:
        """Texts of a structure's or array's parts in the focused lane, compared to find changes."""
        try:
            return (self._session.memory.bytes_of(value, lane).hex(),)
        except GpudbgError:
            return ()

    def _changed(self, path: str, cells: tuple[str, ...], stop: int, detail: WarpDetail) -> int:
        """The lanes in which a value differs from the stop before."""
        who = f"{detail.row.sm} {detail.row.slot}"
        path = f"{self._function} {path}"
        last = self._last.get(path)
        if last is not None and last[0] != stop:
            self._before[path] = last
        self._last[path] = (stop, who, cells)
        old = self._before.get(path)
        if old is None or old[1] != who or len(old[2]) != len(cells):
            return 0
        return sum(1 << n for n, (a, b) in enumerate(zip(old[2], cells, strict=True)) if a != b)


def _parts(path: str, kind: Any) -> list[tuple[str, str]]:
    """Names and expressions of what is in a value."""
    if isinstance(kind, Struct):
        return [(f.name, f"{path}.{f.name}") for f in kind.fields if f.name]
    if isinstance(kind, Array):
        return [(f"[{n}]", f"{path}[{n}]") for n in range(min(kind.count, ELEMENTS))]
    if isinstance(kind, Pointer):
        if isinstance(kind.target, Struct):
            return [(f.name, f"{path}->{f.name}") for f in kind.target.fields if f.name]
        # A pointer to an incomplete type (`void *`) cannot be opened.
        return [(f"*{path}", f"*{path}")] if getattr(kind.target, "size", 0) else []
    return []


def _folded(kind: Struct | Array) -> str:
    if isinstance(kind, Array):
        return f"[{kind.count}]"
    return "{" + ", ".join(f.name for f in kind.fields[:6]) + (", …}" if kind.fields[6:] else "}")
