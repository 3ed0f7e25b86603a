"""A decoded instruction: word, form, and lazily built operands and modifiers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..operands import PT, Access, Address, CBankAddress, Imm, Operand, Pred, Reg, Target
from .spec import FLAGS, Form

_DEFAULTS = {"rnd": "RN", "irnd": "ROUND", "cctest": "T", "size": "32"}


@lru_cache(maxsize=1)
def _known_names() -> frozenset[str]:
    """Every modifier name that some form has."""
    from .forms import modifier_names

    return modifier_names()


class Modifiers(dict[str, Any]):
    """Modifier values by name; a known name that the form lacks reads as False or its default."""

    def __missing__(self, key: str) -> str | bool:
        if key in FLAGS:
            return False
        if key in _DEFAULTS:
            return _DEFAULTS[key]
        if key in _known_names():
            return ""
        raise KeyError(key)


class Instruction:
    """One instruction word as a form understands it; immutable, shared, without an address."""

    __slots__ = ("_m", "_o", "_reads", "_writes", "arch", "form", "guard", "op", "word")

    def __init__(self, word: int, form: Form, arch: str) -> None:
        self.word = word
        self.form = form
        self.arch = arch
        self.op = form.op
        self.guard = (word >> 16 & 7, bool(word >> 19 & 1)) if form.guarded else (PT, False)
        self._o: dict[str, Operand] | None = None
        self._m: Modifiers | None = None
        self._reads: Access | None = None
        self._writes: Access | None = None

    @property
    def m(self) -> Modifiers:
        """Modifier values by name."""
        if self._m is None:
            self._m = Modifiers(self.form.modifiers(self.word))
        return self._m

    @property
    def o(self) -> dict[str, Operand]:
        """Operands by slot, in text order."""
        if self._o is None:
            mods = self.m
            self._o = {
                s.slot: s.decode(self.word, mods) for s in self.form.operands if s.kind is not None
            }
        return self._o

    @property
    def unconditional(self) -> bool:
        """Whether it acts in every active lane: neither a guard nor a test of the carry."""
        index, negated = self.guard
        return index == PT and not negated and bool(self.m["cctest"] == "T")

    @property
    def tests_guard(self) -> bool:
        """Whether its guard is an operand that it tests itself: none does."""
        return False

    @property
    def uniform_guard(self) -> bool:
        """Whether its guard is a uniform predicate: there are none."""
        return False

    @property
    def replaces_results(self) -> bool:
        """Whether it leaves nothing of the old values of its destination registers."""
        return self.guard == (PT, False) and not self.m["merge"].startswith("MRG")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Operands in text order, including those the text omits."""
        return tuple(self.o.values())

    def text(self, pc: int = 8, control: int = 0x7E0) -> str:
        """The text nvdisasm prints, without semicolon and dual-issue braces.

        Args:
            pc: byte address of the instruction (targets print absolute).
            control: the instruction's 21-bit control group; its reuse bits print.
        """
        index, negated = self.guard
        body = self.form.text(self.word, pc, control >> 17 & 15)
        if index == PT and not negated:
            return body
        return f"@{'!' if negated else ''}P{'T' if index == PT else index} {body}"

    def target(self, pc: int) -> int | None:
        """Absolute byte address of a direct flow target; None when there is none."""
        target = self.o.get("target")
        if isinstance(target, Target) and target.base is None:
            return target.address(pc)
        return None

    def reads(self) -> Access:
        """Registers, predicates and condition code read, the guard included."""
        if self._reads is None:
            self._reads = self._access(written=False)
        return self._reads

    def writes(self) -> Access:
        """Registers, predicates and condition code written."""
        if self._writes is None:
            self._writes = self._access(written=True)
        return self._writes

    def _access(self, written: bool) -> Access:
        registers: set[int] = set()
        predicates: set[int] = set()
        for slot, operand in self.o.items():
            merged = slot == "d" and not written and self.m["merge"].startswith("MRG")
            if (slot in ("d", "d2", "p", "q")) != written and not merged:
                continue
            base: Any = operand
            if isinstance(operand, Address | CBankAddress | Target):
                base = operand.base
            if isinstance(base, Reg):
                registers.update(base.registers())
            elif isinstance(base, Pred) and base.index != PT:
                predicates.add(base.index)
        if written:
            cc = self.m["cc"] or self._named("writes", "CC")
            if self._named("writes", "PR"):
                # R2P leaves those alone that its mask does not have.
                mask = self.o.get("b")
                chosen = mask.value if isinstance(mask, Imm) else -1
                predicates.update(n for n in range(7) if chosen >> n & 1)
        else:
            m = self.m
            cc = m["x"] or m["xmode"] in ("X", "XHI", "XLO", "XMED") or m["cctest"] != "T"
            cc = cc or self._named("reads", "CC")
            if self._named("reads", "PR"):
                predicates.update(range(7))
            if self.guard[0] != PT:
                predicates.add(self.guard[0])
        return Access(frozenset(registers), frozenset(predicates), bool(cc))

    def _named(self, option: str, what: str) -> bool:
        """The form's `reads=`/`writes=` option names `what` (`file`: whichever the operand is)."""
        named = self.form.options.get(option, "")
        return what in (self.m["file"] if named == "file" else named.split("+"))

    def __repr__(self) -> str:
        return f"<{self.text()} {self.word:016x} {self.arch}>"

    def __reduce__(self) -> tuple[Any, tuple[int, str]]:
        from .decode import decode

        return decode, (self.word, self.arch)
