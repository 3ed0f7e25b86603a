"""Operands of SPA 5.x instructions: small frozen records, one class per kind.

`neg`, `abs` and `inv` are applied by the instruction to the operand's value: absolute value
first, then negation; `inv` is the one's complement.  They are False where the form has no such bit.
"""

from __future__ import annotations

from dataclasses import dataclass

RZ = 255
PT = 7

WINDOW_BITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Reg:
    """A general register, or `count` consecutive ones starting at `index` (255: RZ).

    `part` is the piece used ("H1", "B2", "H0_H0", ...; "" for the whole register) and `reuse` the
    control-word reuse bit (0, 1 or 2) of the field that holds the register; -1 where it has none.
    """

    index: int
    neg: bool = False
    abs: bool = False
    inv: bool = False
    part: str = ""
    count: int = 1
    reuse: int = -1

    @property
    def is_zero(self) -> bool:
        """True for RZ."""
        return self.index == RZ

    def registers(self) -> tuple[int, ...]:
        """Indices of the registers covered; empty for RZ, which is no storage."""
        if self.index == RZ:
            return ()
        return tuple(i for i in range(self.index, self.index + self.count) if i < RZ)


@dataclass(frozen=True, slots=True)
class Const:
    """A constant bank word c[bank][offset]; `offset` in bytes, signed as printed."""

    bank: int
    offset: int
    neg: bool = False
    abs: bool = False
    inv: bool = False
    part: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Imm:
    """An immediate; `value` holds raw bits ready for use.

    Integers are sign-extended to 32 unsigned bits where the field is signed, f32 immediates are
    the 32-bit pattern, f64 the 64-bit pattern, f16 pairs high << 16 | low.
    """

    value: int
    neg: bool = False
    abs: bool = False
    inv: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class Pred:
    """A predicate register (7: PT), `neg` for `!P`."""

    index: int
    neg: bool = False

    @property
    def is_true(self) -> bool:
        """True for plain PT."""
        return self.index == PT and not self.neg


@dataclass(frozen=True, slots=True)
class Address:
    """A memory address [base + offset]; `wide`: base is the 64-bit pair base, base + 1."""

    base: Reg
    offset: int
    wide: bool = False


@dataclass(frozen=True, slots=True)
class CBankAddress:
    """c[bank][base + offset]; `base` is None where the form has no index register."""

    bank: int
    base: Reg | None
    offset: int


@dataclass(frozen=True, slots=True)
class Target:
    """A flow target: `value` is added to the next instruction word's address if `relative`."""

    value: int
    relative: bool
    base: Reg | None = None

    def address(self, pc: int) -> int:
        """Absolute byte address for an instruction at `pc` (without the base register)."""
        return (pc + 8 + self.value) & WINDOW_BITS if self.relative else self.value


@dataclass(frozen=True, slots=True)
class SReg:
    """A special register by its index and the name nvdisasm prints."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Name:
    """A bare word operand: PR, CC, CC.NEU, 2D, TEX_HEADER_DIMENSION, {0,1}..."""

    value: int
    text: str


Operand = Reg | Const | Imm | Pred | Address | CBankAddress | Target | SReg | Name
