"""A decoded 128-bit instruction word, and its scheduling bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from ..control import CONTROL_LOW, GROUP_BITS, Control
from ..operands import PT, Access, Address, CBankAddress, Const, Imm, Name, Operand, Pred, Reg
from .counts import TEXTURES, kept_counts, register_counts, texture_inputs
from .operands import OperandSlot, slots
from .spec import WideForm

_LARGEST_SHIFTED, _NOT_SHIFTED = 0x40000000, 0x10000
"""Powers of two that IMAD prints as .SHL: up to the first, without the second (measured)."""

_BATCH, _NO_ALIAS = 122, 3
"""Where the batch code stands, and the one with which IMAD prints as itself (measured)."""


GROUP_MASK = (1 << GROUP_BITS) - 1
CONTROL_MASK = GROUP_MASK << CONTROL_LOW
"""The scheduling bits of a word."""


class WideControl(Control):
    """Scheduling bits of a 128-bit word.

    With `yield_` the stall count is what the warp waits at least.  `reuse` holds bits 124:122:
    operand reuse in fixed-latency forms where `yield_` is False, else a batch code.
    """

    __slots__ = ()
    REUSE_SLOTS = 3

    @classmethod
    def of(cls, word: int) -> WideControl:
        """The scheduling bits of a word."""
        return cls.decode(word >> CONTROL_LOW & GROUP_MASK)

    @property
    def bits(self) -> int:
        """A word that has these scheduling bits and nothing else."""
        return self.encode() << CONTROL_LOW


class WideInstruction:
    """One word as a form understands it; immutable, shared, without an address."""

    __slots__ = ("_m", "_o", "_reads", "_writes", "arch", "form", "op", "tables", "word")

    def __init__(self, word: int, form: WideForm, arch: str, tables: str) -> None:
        """Args: tables: the architecture whose tables are read."""
        self.word = word
        self.form = form
        self.arch = arch
        self.op = form.op
        self.tables = tables
        self._o: dict[str, Operand] | None = None
        self._m: tuple[str, ...] | None = None
        self._reads: Access | None = None
        self._writes: Access | None = None

    @property
    def m(self) -> tuple[str, ...]:
        """Modifiers in the order of the text, without their dots."""
        if self._m is None:
            self._m = tuple(self.form.head(self.word).split(".")[1:])
        return self._m

    @property
    def o(self) -> dict[str, Operand]:
        """Operands by slot (`operands`), in text order, those the text leaves out too."""
        if self._o is None:
            self._o = {}
            for slot in _slots(self.form, self.tables):
                self._o[slot.name] = slot.read(self.word)
            for name, count in self._counts().items():
                operand = self._o.get(name)
                if count > 1 and isinstance(operand, Reg | Const):
                    self._o[name] = replace(operand, count=count)
        return self._o

    def _counts(self) -> dict[str, int]:
        """Registers that operands cover, by slot."""
        counts = register_counts(self.op, self.m)
        if "d2" in counts and self._o is not None and "d2" in self._o:
            masks = [o.value for o in self._o.values() if isinstance(o, Imm)]
            counts |= kept_counts(self.op, self.m, masks[-1] if masks else 0xFF)
            dim = next((o.text for o in self._o.values() if isinstance(o, Name)), "")
            if self.op in TEXTURES and dim:
                counts |= texture_inputs(self.op, self.m, dim).registers()
        return counts

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Operands in text order."""
        return tuple(self.o.values())

    def reads(self) -> Access:
        """Registers, predicates and barriers read, the guard included."""
        if self._reads is None:
            self._reads = _access(self, written=False)
        return self._reads

    def writes(self) -> Access:
        """Registers, predicates and barriers written."""
        if self._writes is None:
            self._writes = _access(self, written=True)
        return self._writes

    @property
    def unconditional(self) -> bool:
        """Whether it acts in every active lane: no guard, no further condition of a branch."""
        index, negated = self.guard
        tests = (o for o in self.o.values() if isinstance(o, Pred))
        free = self.op not in CONDITIONAL or all(o.is_true for o in tests)
        return index == PT and not negated and free

    @property
    def tests_guard(self) -> bool:
        """Whether its guard is an operand that it tests itself: BRA.DIV, .CONV and .ANY."""
        return self.op == "BRA" and any(name in self.m for name in ("DIV", "CONV", "ANY"))

    @property
    def uniform_guard(self) -> bool:
        """Whether its guard is a uniform predicate."""
        return self.form.uniform_guard

    @property
    def replaces_results(self) -> bool:
        """Whether it leaves nothing of the old values of its destination registers."""
        return self.guard == (PT, False)

    @property
    def control(self) -> WideControl:
        """Scheduling bits."""
        return WideControl.of(self.word)

    @property
    def guard(self) -> tuple[int, bool]:
        """Guard predicate index (7: always) and whether it is negated."""
        return self.word >> 12 & 7, bool(self.word >> 15 & 1)

    def target(self, pc: int = 0) -> int | None:
        """Absolute byte address of a direct flow target of the word at `pc`."""
        for part in self.form.parts(self.tables)[0]:
            if part.relative:
                return int(part.show(self.word, pc), 16)
        return None

    def operand_texts(self, pc: int = 0) -> list[str]:
        """Operands as they print, in order; those that the text leaves out are empty."""
        parts, _ = self.form.parts(self.tables)
        texts = [part.show(self.word, pc) for part in parts]
        kept = [text not in part.omit for text, part in zip(texts, parts, strict=True)]
        if rules := self.form.options.get("omit"):
            flags = "".join(
                str(int(text in part.omit or text in part.maybe))
                for text, part in zip(texts, parts, strict=True)
            )
            found = dict(rule.split(":") for rule in rules.split(";")).get(flags)
            if found:
                kept = [flag == "1" for flag in found]
        return [text if keep else "" for text, keep in zip(texts, kept, strict=True)]

    def text(self, pc: int = 0, control: int = 0) -> str:
        """The text nvdisasm prints, without semicolon.

        Args:
            pc: the word's byte address.
            control: not looked at: the word holds its scheduling bits.
        """
        index, negated = self.guard
        if index == PT and not negated:
            return self.body(pc)
        name = "UP" if self.form.uniform_guard else "P"
        return f"@{'!' if negated else ''}{name}{'T' if index == PT else index} {self.body(pc)}"

    def body(self, pc: int = 0) -> str:
        """The text without its guard."""
        texts = self.operand_texts(pc)
        head = self.form.head(self.word)
        if self.op == "IMAD":
            head = "IMAD" + self._imad_alias(texts) + head[4:]
        shown, separator = "", ""
        for text, part in zip(texts, self.form.parts(self.tables)[0], strict=True):
            if text:
                shown += separator + text
                separator = part.separator
        return f"{head} {shown}" if shown else head

    def _imad_alias(self, texts: list[str]) -> str:
        """IMAD prints as MOV, IADD or SHL where its operands make it one (measured)."""
        if any(m in self.form.modifiers for m in (".WIDE", ".HI", ".X")):
            return ""
        if self.word >> _BATCH & 7 == _NO_ALIAS and not self.word >> CONTROL_LOW & 16:
            return ""
        a, b, c = (text.replace(".reuse", "").lstrip("-") for text in texts[-3:])
        if any(text.startswith(("UR", "cx")) for text in (b, c)):
            return ""
        positive = not texts[-2].startswith("-")
        if a == "RZ" or b in ("RZ", "0x0") or (b == "0x1" and c == "RZ" and positive):
            return ".MOV"
        if b == "0x1" and positive:
            return ".IADD"
        if c == "RZ" and b.startswith("0x") and positive:
            number = int(b, 16)
            power = number & (number - 1) == 0 and 1 < number <= _LARGEST_SHIFTED
            return ".SHL" if power and number != _NOT_SHIFTED else ""
        return ""

    def __repr__(self) -> str:
        return f"<{self.text()} {self.word:032x} {self.arch}>"


CONDITIONAL = frozenset("BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BREAK BSSY BSYNC".split())
"""Flow instructions whose predicate operand is a further condition."""
_RESULTS = ("d", "d2", "p", "q")
_WRITES_BARRIER = ("BSSY", "BSYNC", "BREAK")
_PREDICATE_FILES = {"PR": "predicates", "UPR": "uniform_predicates"}
"""Words that stand for all predicates -> what they are part of."""


@cache
def _slots(form: WideForm, tables: str) -> tuple[OperandSlot, ...]:
    return slots(form, tables)


@cache
def _pair(register: Reg) -> Reg:
    return replace(register, count=2)


class _Touched:
    """Collects the registers of operands."""

    def __init__(self) -> None:
        self.registers: dict[str, set[int]] = {"R": set(), "UR": set()}
        self.predicates: dict[str, set[int]] = {"P": set(), "UP": set()}
        self.barriers: set[int] = set()

    def register(self, operand: Reg | None) -> None:
        """A register, or several."""
        if operand is not None:
            self.registers[operand.file].update(operand.registers())

    def predicate(self, index: int, file: str) -> None:
        """A predicate."""
        if index != PT:
            self.predicates[file].add(index)

    def access(self) -> Access:
        """All of it."""
        return Access(
            frozenset(self.registers["R"]),
            frozenset(self.predicates["P"]),
            False,
            frozenset(self.registers["UR"]),
            frozenset(self.predicates["UP"]),
            frozenset(self.barriers),
        )


def _access(insn: WideInstruction, written: bool) -> Access:
    found = _Touched()
    for slot, operand in insn.o.items():
        match operand:
            case Reg() | Pred() if (slot in _RESULTS) == written:
                if isinstance(operand, Reg):
                    found.register(operand)
                else:
                    found.predicate(operand.index, operand.file)
            case Const() | Address() | CBankAddress() if not written:
                shared = insn.op in SHARED_SPACE or (insn.op, slot) == _SHARED_COPY
                _place(found, operand, "E" in insn.m and not shared, shared)
                if slot == "addr" and isinstance(operand, Address) and operand.index is not None:
                    found.register(replace(operand.index, count=_behind(insn, operand.index)))
            case Name(text=text) if text in _PREDICATE_FILES:
                # P2R reads them, R2P writes them: by where the word stands.
                if (slot == "name" and next(iter(insn.o)) == "name") == written:
                    file = "P" if text == "PR" else "UP"
                    found.predicates[file].update(_named_predicates(insn))
            case Name(value=value, text=text) if text == f"B{value}":
                first = next(iter(insn.o)) == slot
                if (insn.op in _WRITES_BARRIER or first) if written else not first:
                    found.barriers.add(value)
    if not written:
        if insn.op == "R2UR" and "OR" in insn.m and isinstance(result := insn.o.get("p"), Pred):
            # It adds to what its predicate says.
            found.predicate(result.index, result.file)
        index, _ = insn.guard
        found.predicate(index, "UP" if insn.form.uniform_guard else "P")
    return found.access()


def _named_predicates(insn: WideInstruction) -> Iterable[int]:
    """Predicates that P2R and R2P take: those in the mask that stands last, all without one."""
    last = insn.operands[-1]
    mask = last.value if isinstance(last, Imm) else (1 << PT) - 1
    return (n for n in range(PT) if mask >> n & 1)


def _behind(insn: WideInstruction, first: Reg) -> int:
    """How many uniform registers an address stands for that is the first of several."""
    if insn.op in _BY_DESCRIPTORS and not first.is_zero:
        return 4
    if insn.op not in _TENSOR_COPIES or first.is_zero:
        return 1
    # Of four rows a column and their numbers.
    dimensions = next((int(name[0]) for name in insn.m if name in _DIMENSIONS), 1)
    coordinates = 5 if {"GATHER4", "SCATTER4"} & set(insn.m) else dimensions
    return _TENSOR_COPIES[insn.op] + coordinates


_BY_DESCRIPTORS = frozenset("HGMMA IGMMA QGMMA BGMMA".split())
"""Products whose operand in memory is two descriptors, of A and of B."""
_TENSOR_COPIES = {"UTMALDG": 2, "UTMASTG": 1, "UTMAREDG": 1}
"""Copies of tensors -> registers before the coordinates: place and mbarrier, or the place."""
_DIMENSIONS = ("1D", "2D", "3D", "4D", "5D")
SHARED_SPACE = frozenset("LDS STS ATOMS LDL STL LDSM STSM SYNCS".split())
"""Accesses whose uniform register is 32 bits wide; others take a pair."""


_SHARED_COPY = ("LDGSTS", "addr")
"""The address in shared memory that it writes; the other is in global memory."""


def _place(
    found: _Touched, operand: Const | Address | CBankAddress, extended: bool, shared: bool
) -> None:
    """Registers of an address or of a bank's name.

    Args:
        extended: addresses have 64 bits.
        shared: it is an address in shared or local memory.
    """
    if isinstance(operand, Const):
        found.register(_pair(operand.handle) if operand.handle is not None else None)
        return
    if isinstance(operand, Address):
        wide = operand.wide or (extended and operand.base.part != "U32")
        found.register(_pair(operand.base) if wide else operand.base)
        if operand.index is not None:
            found.register(operand.index if shared else _pair(operand.index))
        if operand.descriptor is not None:
            found.register(_pair(operand.descriptor))
    else:
        found.register(operand.base)
