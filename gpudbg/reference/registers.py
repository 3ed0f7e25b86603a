"""`gpudbg info special`: the table of special registers."""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.answers import Answer, Listing, Table, column, computed, typed_row
from gpudbg.errors import UsageError
from gpudbg.regs.special import (
    SPECIAL_REGISTERS,
    SpecialRegister,
    find_special,
    nearest_special,
)


@typed_row
class ListedRegister:
    """A special register as the tables have it; its fields where it was asked for by name."""

    mark = computed("", lambda r: f"SR{r.number}")
    number: int = column()
    name: str = column("Register")
    scope: str = column("Scope")
    note: str = column("Note", key="")
    fields: tuple[str, ...] = column(key="")

    @classmethod
    def of(cls, row: SpecialRegister) -> ListedRegister:
        """A row of the register table."""
        fields = (f"  [{f.bits.hi}:{f.bits.lo}]  {f.name}  {f.meaning}" for f in row.rows)
        return cls(row.number, row.name, str(row.scope or ""), str(row.note or ""), tuple(fields))

    def lines(self) -> tuple[str, ...]:
        """The register in full."""
        return f"SR{self.number}  {self.name}", *self.fields


def registers_answer(words: Sequence[str]) -> Answer:
    """Special registers: all of them, or some with their fields.

    Raises:
        UsageError: a name that none has.
    """
    if not words:
        known = (ListedRegister.of(r) for r in SPECIAL_REGISTERS if not r.reserved)
        return Table(ListedRegister, tuple(known))
    found = []
    for word in words:
        row = find_special(word.lstrip("$"))
        if row is None:
            near = ", ".join(nearest_special(word))
            raise UsageError(f"no special register is called {word!r}", f"near: {near}")
        found.append(ListedRegister.of(row))
    return Listing(tuple(found), ListedRegister.lines)
