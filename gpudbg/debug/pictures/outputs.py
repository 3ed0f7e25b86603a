"""The launch's buffers: whole ones, looked at again only when written to.

A mark is made at every stop: a buffer not written since keeps its row, and what has changed is
counted from the mark of the stop before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.analysis import means, not_finite
from gpudbg.dataclass import dataclass
from gpudbg.debug.values.changes import ChangeMark
from gpudbg.debug.values.elements import element_name, shown_buffer
from gpudbg.debug.values.unwritten import buffer_words, elements_never_written

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

SHOWN = 4096
"""Elements a row holds; counts, plots and what is not finite are of the whole buffer."""
PLOT = 40
"""Parts of a buffer that a plot draws."""


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One buffer of the launch.

    `values` are the first elements; `changed`, `strange` (what is not finite, in words) and `means`
    (of parts, NaN where one is not finite) are of all.  `unwritten` says how many elements were
    never written, `never` which of the first.
    """

    name: str
    dtype: str
    count: int
    address: int
    marked: bool
    values: NDArray[np.generic]
    changed: int = 0
    strange: str = ""
    means: tuple[float, ...] = ()
    unwritten: str = ""
    never: frozenset[int] = frozenset()


class OutputTaker:
    """Makes the rows of one session's buffers."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._rows: dict[str, tuple[Any, OutputRow]] = {}
        self._mark: ChangeMark | None = None
        self._before: ChangeMark | None = None

    def new_stop(self) -> None:
        """Start a new comparison: changes count from the last picture."""
        self._before, self._mark = self._mark, None

    def forget(self) -> None:
        """Drop the comparison: a new launch has no changes against another run."""
        self._before = self._mark = None

    def take(self) -> tuple[OutputRow, ...]:
        """A row for each buffer, those the launch table marks first."""
        written = False
        rows: dict[str, tuple[Any, OutputRow]] = {}
        for number, argument in enumerate(self._session.launch.arguments):
            buffer = shown_buffer(self._session, number)
            if buffer is None or argument.name in rows or buffer.allocation.freed:
                continue
            old = self._rows.get(argument.name)
            same = old is not None and old[0] is buffer.allocation
            if old is not None and same and self._mark is not None:
                if not self._mark.touched(buffer):
                    rows[argument.name] = old
                    continue
                written = True
            before = self._before
            if old is not None and same and before is not None and not before.touched(buffer):
                row = replace(old[1], changed=0)
            else:
                row = self._row(
                    argument, buffer, before.changed(buffer) if before is not None else 0
                )
            rows[argument.name] = (buffer.allocation, row)
        self._rows = rows
        if self._mark is None or written:
            self._mark = ChangeMark(self._session)
        return tuple(sorted((row for _, row in rows.values()), key=lambda r: not r.marked))

    def _row(self, argument: Any, buffer: Any, changed: int) -> OutputRow:
        flat = _values(buffer)
        never = elements_never_written(buffer, SHOWN)
        return OutputRow(
            name=argument.name,
            dtype=element_name(flat.dtype),
            count=flat.size,
            address=buffer.address,
            marked=argument.output,
            values=flat[:SHOWN].copy(),
            changed=changed,
            strange=str(not_finite(flat)),
            means=means(flat, PLOT),
            unwritten=buffer_words(buffer),
            never=frozenset(never.nonzero()[0].tolist() if never is not None else ()),
        )


def _values(buffer: Any) -> NDArray[Any]:
    """The elements in memory order: of a buffer as they lie there, without a copy."""
    if hasattr(buffer, "layout"):
        return np.asarray(buffer.array()).reshape(-1)
    count = int(np.prod(buffer.shape, dtype=np.int64))
    size = count * buffer.dtype.itemsize
    return np.asarray(buffer.allocation.data[:size]).view(buffer.dtype)
