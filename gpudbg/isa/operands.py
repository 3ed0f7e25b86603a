"""Operands of instructions of both families: small frozen records, one class per kind.

`neg`, `abs` and `inv` are applied by the instruction to the operand's value: absolute value
first, then negation; `inv` is the one's complement.  They are False where the form has no such bit.
"""

from __future__ import annotations

from gpudbg.dataclass import dataclass

RZ = 255
URZ = 255
"""Number of the uniform register that reads as zero, however the architecture numbers it."""
PT = 7

WINDOW_BITS = 0xFFFFFFFF
BANK_OFFSETS = 0xFFFF
"""Bits of an offset in a constant bank."""


@dataclass(frozen=True, slots=True)
class Reg:
    """A register, or `count` consecutive ones starting at `index` (255: RZ, URZ).

    `part` is the piece used ("H1", "B2", "H0_H0", ...; "" for the whole register) and `reuse` the
    control-word reuse bit (0, 1 or 2) of the field that holds the register; -1 where it has none.
    `file` is "R", or "UR" for the uniform registers that a warp's lanes share.
    """

    index: int
    neg: bool = False
    abs: bool = False
    inv: bool = False
    part: str = ""
    count: int = 1
    reuse: int = -1
    file: str = "R"

    @property
    def is_zero(self) -> bool:
        """True for RZ and URZ."""
        return self.index == RZ

    def registers(self) -> tuple[int, ...]:
        """Indices of the registers covered; empty for RZ and URZ, which are no storage."""
        if self.index == RZ:
            return ()
        return tuple(i for i in range(self.index, self.index + self.count) if i < RZ)


@dataclass(frozen=True, slots=True)
class Const:
    """A constant bank word c[bank][offset]; `offset` in bytes, signed as printed.

    `handle` is the uniform register pair of cx[UR][offset], which names a bank of its own.
    """

    bank: int
    offset: int
    neg: bool = False
    abs: bool = False
    inv: bool = False
    part: str = ""
    count: int = 1
    handle: Reg | None = None

    @property
    def place(self) -> int:
        """The byte of the bank: of the 16 bits of an offset the highest is printed as a sign."""
        return self.offset & BANK_OFFSETS


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
    """A predicate register (7: PT), `neg` for `!P`; `file` is "UP" for a uniform one."""

    index: int
    neg: bool = False
    file: str = "P"

    @property
    def is_true(self) -> bool:
        """True for plain PT."""
        return self.index == PT and not self.neg


@dataclass(frozen=True, slots=True)
class Address:
    """A memory address [base + index + offset].

    Attributes:
        base: a register; its `part` is what is done to it ("64", "U32", "X4", "X8", "X16").
        offset: in bytes.
        wide: base is the 64-bit pair base, base + 1.
        index: a uniform register (pair), or None.
        descriptor: the uniform register pair of desc[UR], or None.
    """

    base: Reg
    offset: int
    wide: bool = False
    index: Reg | None = None
    descriptor: Reg | None = None


@dataclass(frozen=True, slots=True)
class CBankAddress:
    """c[bank][base + offset]; `base` is None where the form has no index register."""

    bank: int
    base: Reg | None
    offset: int


@dataclass(frozen=True, slots=True)
class Target:
    """A flow target: `value` is added to the next instruction word's address if `relative`.

    That is `after` bytes behind the instruction's own.
    """

    value: int
    relative: bool
    base: Reg | None = None
    after: int = 8

    def address(self, pc: int) -> int:
        """Absolute byte address for an instruction at `pc` (without the base register)."""
        return (pc + self.after + self.value) & WINDOW_BITS if self.relative else self.value


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


@dataclass(frozen=True, slots=True)
class Access:
    """What an instruction reads or writes: numbers of registers, condition code.

    Attributes:
        registers, predicates: of a lane's own.
        cc: the condition code (sm_50 to sm_62).
        uniform, uniform_predicates: of those a warp's lanes share.
        barriers: convergence barriers.
    """

    registers: frozenset[int]
    predicates: frozenset[int]
    cc: bool = False
    uniform: frozenset[int] = frozenset()
    uniform_predicates: frozenset[int] = frozenset()
    barriers: frozenset[int] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Each by its name: R4, P0, UR2, UP1, B0, CC."""
        named = (
            ("R", self.registers), ("P", self.predicates), ("UR", self.uniform),
            ("UP", self.uniform_predicates), ("B", self.barriers),
        )  # fmt: skip
        found = tuple(f"{word}{n}" for word, numbers in named for n in sorted(numbers))
        return (*found, "CC") if self.cc else found


Operand = Reg | Const | Imm | Pred | Address | CBankAddress | Target | SReg | Name
