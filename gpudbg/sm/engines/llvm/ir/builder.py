"""A builder of LLVM IR text: statements with fresh names, blocks, and structured `if` and loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

LANES = 32

LIKELY, UNLIKELY = ", !prof !0", ", !prof !1"
"""Branch weights for the likely and unlikely label, so that the unlikely path costs no
registers.
"""
ODDS = """
!0 = !{!"branch_weights", i32 10000, i32 1}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{}
"""
"""Metadata at the end of a module that uses branch weights or `HELD`."""
GROUP, END_OF_GROUP = "  ; group", "  ; end of group"
"""Comments around blocks of the tail of which the first one leads to all others."""
HELD = ", !held !2"
"""Metadata of a load whose value the record holds until an exit stores another."""


def vector(kind: str) -> str:
    """The type of 32 lanes of a scalar type."""
    return f"<{LANES} x {kind}>"


def splat(kind: str, value: int | str) -> str:
    """A constant with one number in all lanes, without its type."""
    return f"splat ({kind} {value})"


def signed(value: int, bits: int) -> int:
    """An unsigned number as IR writes it: signed constants are shorter and always legal."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


class Pending:
    """A number in an emitted statement that is fixed only after later statements."""

    __slots__ = ("_lines", "_number", "_parts")

    def __init__(self, lines: list[str], number: int, parts: tuple[str, str]) -> None:
        self._lines, self._number, self._parts = lines, number, parts

    def settle(self, value: int) -> None:
        """Set the number, replacing an earlier one."""
        before, after = self._parts
        self._lines[self._number] = f"{before}{value}{after}"


class Phi:
    """A phi whose incoming edges come to be known one after another."""

    __slots__ = ("_lines", "_number")

    def __init__(self, lines: list[str], number: int) -> None:
        self._lines, self._number = lines, number

    def add(self, value: str, label: str) -> None:
        """One more edge: from a block, with a value."""
        self._lines[self._number] += f", [ {value}, %{label} ]"


class Builder:
    """Builds one function body as lines of IR.

    Attributes:
        lines: the body so far.
        tail: blocks out of the way, such as side exits; they come behind the body.
        texts: what `op` has given a name to, by that name.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tail: list[str] = []
        self.texts: dict[str, str] = {}
        self._names = 0

    def following(self) -> Builder:
        """A builder for more of the same function, whose names are others than those so far."""
        made = Builder()
        made._names = self._names
        return made

    def line(self, text: str) -> None:
        """A statement without a result."""
        self.lines.append("  " + text)

    def op(self, text: str) -> str:
        """A statement whose result gets a fresh name."""
        self._names += 1
        name = f"%v{self._names}"
        self.lines.append(f"  {name} = {text}")
        self.texts[name] = text
        return name

    def pending(self, before: str, after: str = "") -> tuple[str, Pending]:
        """A statement with a number, 0 for now, between two pieces of text; its result's name."""
        number = len(self.lines)
        name = self.op(f"{before}0{after}")
        return name, Pending(self.lines, number, (f"  {name} = {before}", after))

    def phi(self, kind: str, value: str, label: str) -> tuple[str, Phi]:
        """A phi with its first edge, and more to come; its result's name."""
        number = len(self.lines)
        return self.op(f"phi {kind} [ {value}, %{label} ]"), Phi(self.lines, number)

    def fresh(self, hint: str) -> str:
        """A label name not used yet."""
        self._names += 1
        return f"{hint}{self._names}"

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")

    def br(self, target: str) -> None:
        """Go to a label."""
        self.line(f"br label %{target}")

    def choose(self, condition: str, then: str, otherwise: str, odds: str = "") -> None:
        """Go to one of two labels by an i1; `odds`: `LIKELY` or `UNLIKELY`, for kernels."""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}{odds}")

    def at(self, pointer: str, offset: int | str) -> str:
        """A pointer moved by bytes."""
        return pointer if offset == 0 else self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def get(self, kind: str, pointer: str, offset: int | str = 0, align: int = 0) -> str:
        """The value at a pointer."""
        place = self.at(pointer, offset)
        return self.op(f"load {kind}, ptr {place}" + (f", align {align}" if align else ""))

    def put(
        self, kind: str, value: int | str, pointer: str, offset: int | str = 0, align: int = 0
    ) -> None:
        """Write a value at a pointer."""
        place = self.at(pointer, offset)
        self.line(f"store {kind} {value}, ptr {place}" + (f", align {align}" if align else ""))

    # ---- structure ---------------------------------------------------------------------

    def var(self, kind: str, value: int | str) -> str:
        """A local variable, as a pointer; for use outside of loops only."""
        place = self.op(f"alloca {kind}")
        self.put(kind, value, place)
        return place

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Statements for a true i1."""
        then, after = self.fresh("then"), self.fresh("after")
        self.choose(condition, then, after)
        self.label(then)
        yield
        self.br(after)
        self.label(after)

    @contextmanager
    def returning(self, condition: str) -> Iterator[None]:
        """Statements for a true i1 that end by leaving."""
        then, after = self.fresh("then"), self.fresh("after")
        self.choose(condition, then, after)
        self.label(then)
        yield
        self.label(after)

    @contextmanager
    def loop(self) -> Iterator[tuple[str, str]]:
        """Statements repeated for ever; yields (label to continue, label to leave)."""
        head, after = self.fresh("head"), self.fresh("done")
        self.br(head)
        self.label(head)
        yield head, after
        self.br(head)
        self.label(after)

    def unless(self, condition: str, target: str, odds: str = "") -> None:
        """Go on only if the i1 is false, else go to a label."""
        on = self.fresh("on")
        self.choose(condition, target, on, odds)
        self.label(on)

    def provided(self, condition: str, otherwise: str) -> None:
        """Go on if the i1 is true, as it nearly always is, else go to a label."""
        on = self.fresh("on")
        self.choose(condition, on, otherwise, LIKELY)
        self.label(on)

    def end_block(self, target: str) -> str:
        """Go to a label from a block with a name, which is returned for phis."""
        name = self.fresh("end")
        self.br(name)
        self.label(name)
        self.br(target)
        return name

    def close(self, head: str) -> str:
        """The function with this head; variables belong to its first block."""
        variables = [line for line in self.lines if " = alloca " in line]
        rest = [line for line in self.lines if " = alloca " not in line]
        return "\n".join([f"{head} {{", *variables, *rest, "}"])

    # ---- out of the way ----------------------------------------------------------------

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Statements for blocks of the tail; none where the instruction has no compiled version."""
        kept, self.lines = self.lines, []
        try:
            yield
            self.tail += self.lines
        finally:
            self.lines = kept

    @contextmanager
    def group_aside(self, label: str = "") -> Iterator[None]:
        """Statements of a block of the tail and of others that only it leads to.

        Args:
            label: of that block, which others lead to; "": the present one goes on there.
        """
        head = label or self.fresh("aside")
        if not label:
            self.br(head)
        with self.aside():
            self.label(head)
            self.lines.append(GROUP)
            yield
            self.lines.append(END_OF_GROUP)

    def later(self, label: str, lines: list[str]) -> None:
        """A block of the tail."""
        self.tail += [f"{label}:", *(f"  {line}" for line in lines)]

    def mark(self) -> tuple[int, int]:
        """What has been built so far, for `revert`."""
        return len(self.lines), len(self.tail)

    def revert(self, mark: tuple[int, int]) -> None:
        """Forget what was built since a mark."""
        del self.lines[mark[0] :]
        del self.tail[mark[1] :]
