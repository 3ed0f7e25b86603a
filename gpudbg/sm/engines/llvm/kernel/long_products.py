"""32-bit products of the 64-bit sets, which compilers make of three 16-bit ones, found again.

    XMAD.MRG      M, a, b.H1, RZ         low half of a.lo * b.hi, below b's low half
    XMAD          L, a, b, c             a.lo * b.lo + c
    XMAD.PSL.CBCC D, a.H1, M.H1, L       (a.hi * b.lo << 16) + L + (M << 16) = a * b + c

The host has one instruction for the third's result, where the lanes' shape is kept as well.  M and
L are emitted as they are: most often nothing looks at them before they are overwritten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpudbg.isa.operands import RZ, Const, Reg
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Num, Val
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.semantics.operands import raw


class _Part(NamedTuple):
    """What a 16-bit product was made of: whole operands, what was added, and what tells b apart."""

    a: Num
    b: Num
    c: Num
    source: Num | tuple[int, int]


def _form(insn: Any) -> tuple[Any, ...]:
    """What tells the three apart: halves of the operands, and modifiers."""
    modes = insn.m
    halves = (insn.o["a"].part or "H0", insn.o["b"].part or "H0")
    return *halves, modes["psl"], modes["mrg"], modes["cmode"]


_FIRST = ("H0", "H1", False, True, "")
_SECOND = ("H0", "H0", False, False, "")
_THIRD = ("H1", "H1", True, False, "CBCC")


class LongProducts:
    """Products of a trace.

    Attributes:
        firsts, seconds: register value -> what it was made of, for the first two of the three.
    """

    def __init__(self, registers: Registers, ints: Integers) -> None:
        self.registers, self.ints = registers, ints
        self.firsts: dict[Val, _Part] = {}
        self.seconds: dict[Val, _Part] = {}

    def emitted(self, machine: Any, insn: Any) -> bool:
        """Emit an XMAD that ends a product; False, and nothing emitted, for any other."""
        if not self._plain(insn) or _form(insn) != _THIRD or not isinstance(insn.o["b"], Reg):
            return False
        a, middle, low = (raw(machine, insn.o[name]) for name in "abc")
        if not (isinstance(middle, Val) and isinstance(low, Val)):
            return False
        first, second = self.firsts.get(middle), self.seconds.get(low)
        if first is None or second is None:
            return False
        if not (_same(first.a, a) and _same(second.a, a) and _same(first.source, second.source)):
            return False
        product = self.ints.mul(second.a, second.b)
        self.registers.reg_write(insn.o["d"].index, self.ints.add(product, second.c))
        return True

    def operands(self, machine: Any, insn: Any) -> _Part | None:
        """The operands of one of the first two, before it is emitted; None for any other."""
        if not self._plain(insn) or _form(insn) not in (_FIRST, _SECOND):
            return None
        given: tuple[Any, ...] = tuple(raw(machine, insn.o[name]) for name in "abc")
        a, b, c = given
        source = insn.o["b"]
        # A constant is read anew each time.
        part = _Part(a, b, c, (source.bank, source.offset) if isinstance(source, Const) else b)
        return None if _form(insn) == _FIRST and part.c != 0 else part

    def note(self, insn: Any, part: _Part) -> None:
        """Note what the register just written was made of."""
        written = self.registers.reg(insn.o["d"].index)
        if isinstance(written, Val):
            parts = self.firsts if _form(insn) == _FIRST else self.seconds
            parts[written] = part

    @staticmethod
    def _plain(insn: Any) -> bool:
        """Whether an XMAD multiplies unsigned halves, without carries or flags, into a register."""
        modes = insn.m
        unsigned = modes["atype"] == modes["btype"] == "U16"
        return unsigned and not (modes["x"] or modes["cc"]) and insn.o["d"].index != RZ


def _same(a: object, b: object) -> bool:
    """Whether two values are one."""
    return a is b or (not isinstance(a, Val) and a == b)
