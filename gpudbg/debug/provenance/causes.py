"""Why a value is what it is: the record of one value and of what it was computed from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final

from gpudbg.answers import column, computed, dim, typed_row
from gpudbg.answers.formats import COORDINATES, ROWS

_FIRST: Final = ("", "")
_BRANCH: Final = ("├ ", "│ ")
_LAST: Final = ("└ ", "  ")


@typed_row
class Derivation:
    """A value, the instruction that made it, and the values that went into it.

    `what` is the place (`R4`, `shared 0x0`, `c[0x0][0x140]`), `value` what it has; `role` is what
    it is to the value above it: operand, address, data, guard, value (of a load), lane 3 (of a
    shuffle or a vote), A, lane 3 (of a matrix), old (of an atomic), control; "" at the top.
    `kind` is how it came there: register, store, atomic, async copy, edit, launch, constant,
    special register.  `tick`, `block`, `thread`, `lane`, `pc`, `instruction`, `file`, `line` are
    the writer's as in `PlaceTouch`, None where it is no instruction.  `children` are what it was
    computed from; `cut` says that there are some, which the depth left out (`session.why(cause)`
    goes on there) or which are shown elsewhere (`again`).

    >>> stop = session.run()
    >>> cause = session.why("out[2]", depth=3)
    >>> cause.instruction, [child.what for child in cause.children]
    ('STG.E [R2], R4', ['R4', 'R2', 'R3'])
    >>> print(cause.children[0].children[0])
    value: shared 0x0 = 5026, store @P0 STS [R5], R2, first_steps.cu:20, tick 602
    """

    role: str = column()
    what: str = column()
    value: str = column()
    kind: str = column()
    tick: int | None = column()
    block: tuple[int, int, int] | None = column(None, COORDINATES)
    thread: tuple[int, int, int] | None = column(None, COORDINATES)
    lane: int | None = column()
    pc: int | None = column()
    instruction: str = column()
    function: str | None = column()
    file: str | None = column()
    line: int | None = column()
    note: str = column()
    cut: bool = column()
    again: bool = column()
    children: tuple[Derivation, ...] = column(None, ROWS)
    origin: Any = column(key="")
    text: str = computed(None, lambda self: str(self), "text")

    def __str__(self) -> str:
        role = f"{self.role}: " if self.role else ""
        said = f"{role}{self.what} = {self.value}"
        if not self.instruction:
            return f"{said}, {self.note or self.kind}"
        parts = [said, f"{'' if self.kind == 'register' else self.kind + ' '}{self.instruction}"]
        if self.file is not None:
            parts.append(f"{PurePath(self.file).name}:{self.line}")
        parts.append(f"tick {self.tick:,}")
        return ", ".join(parts)

    def walk(self) -> Iterator[Derivation]:
        """Iterate over this value and all its sources, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()


def tree_lines(top: Derivation) -> list[str]:
    """A tree as text; a thread is named where it is another one than above."""
    return list(_lines(top, _FIRST, None))


def _lines(cause: Derivation, prefix: tuple[str, str], above: Any) -> Iterator[str]:
    who = cause.block, cause.thread
    named = cause.thread is not None and who != above
    thread = f", block {dim(cause.block)} thread {dim(cause.thread)}" if named else ""
    more = " (shown above)" if cause.again else " …" if cause.cut else ""
    yield f"{prefix[0]}{cause}{thread}{more}"
    for n, child in enumerate(cause.children):
        own = _LAST if n == len(cause.children) - 1 else _BRANCH
        below = prefix[1] + own[0], prefix[1] + own[1]
        yield from _lines(child, below, who if cause.thread is not None else above)
