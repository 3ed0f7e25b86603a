"""Random legal words of a mnemonic, on registers R0..R15 and RZ and on constants that exist."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gpudbg.errors import DecodeError
from gpudbg.isa.bitsets import Bits
from gpudbg.isa.spa5.decode import decode
from gpudbg.isa.spa5.forms import all_forms
from gpudbg.isa.spa5.insn import Instruction
from gpudbg.isa.spa5.kinds import ConstKind, RegKind
from gpudbg.isa.spa5.spec import Form

_CONST_BANK = Bits.parse("38:34")
_CONST_OFFSET = Bits.parse("33:20")


def forms_of(op: str, arch: str = "sm_50") -> list[Form]:
    """The forms of a mnemonic on an architecture."""
    return [f for f in all_forms() if f.op == op and arch in f.archs]


def random_word(form: Form, rng: random.Random, arch: str = "sm_50") -> Instruction:
    """A legal random instruction of the form."""
    while True:
        word = form.value | rng.getrandbits(64) & ~form.mask
        if form.guarded:
            guard = 7 if rng.randrange(3) else rng.randrange(16)
            word = word & ~(0xF << 16) | guard << 16
        for spec in form.operands:
            # Not what is made from RegKind: those take other numbers.
            if type(spec.kind) is RegKind:
                number = 255 if not rng.randrange(8) else rng.randrange(16)
                word = _put(word, spec.kind.bits, number)
            elif isinstance(spec.kind, ConstKind):
                word = _put(word, _CONST_BANK, rng.randrange(4))
                word = _put(word, _CONST_OFFSET, rng.randrange(32))
        try:
            insn = decode(word, arch)
        except DecodeError:
            continue
        if insn.form is form:
            return insn


def words(op: str, count: int, seed: object = 0, arch: str = "sm_50") -> Iterator[Instruction]:
    """`count` random instructions of each form of the mnemonic."""
    rng = random.Random(repr((op, seed, arch)))
    found = forms_of(op, arch)
    assert found, f"no form of {op}"
    for form in found:
        for _ in range(count):
            yield random_word(form, rng, arch)


def _put(word: int, bits: Bits, value: int) -> int:
    return word & ~bits.mask | bits.put(value)
