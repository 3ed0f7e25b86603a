"""How many consecutive registers an operand of a 128-bit instruction covers.

A row is mnemonics, modifiers they must have, then `SLOT=RULE`; the first row that fits counts.  A
rule is a number, `size` (the width that the modifiers name), `to` and `from` (the types of a
conversion), `words` and `halves` (of a warp group's result of 32 and 16 bits).  Operands without a
rule are one register.
Tensor core fragments: PTX ISA, matrix fragments.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

_ROWS = """
DADD DMUL DFMA          d=2 a=2 b=2 c=2
DSETP                   a=2 b=2
IMAD.WIDE UIMAD.WIDE    d=2 c=2
IMAD.HI UIMAD.HI        c=2
IADD.64 UIADD3.64 MOV.64 UMOV.64 SEL.64 USEL.64 d=2 a=2 b=2
IMNMX.S64 IMNMX.U64 UIMNMX.S64 UIMNMX.U64  d=2 a=2 b=2
MOV64IUR                d=2 a=2
ISETP.S64 ISETP.U64 UISETP.S64 UISETP.U64  a=2 b=2
FADD2 FMUL2 FFMA2       d=2 a=2 b=2 c=2
CS2R.32 CS2UR.32
CS2R CS2UR LEPC ULEPC   d=2
BRX JMX BRXU JMXU RET CALL a=2
LDG.256 LD.256          d=4 d2=4
LDG                     d=size
LD LDS LDL LDC ULDC LDCU LDGMC LDS d=size
ST STG STS STL          a=size b=size
ATOM ATOMG ATOMS        d=size a=size b=size
RED REDG                a=size
MATCH.U64               a=2
F2F F2I FRND I2F        d=to a=from
MOVM.U4TO8              d=2
LDSM.MT1616.2           d=4
LDSM.MT1616             d=2
LDSM.4 LDTM.4           d=4
LDSM.2                  d=2
STSM.4                  a=4
STSM.2                  a=2
HMMA.884                d=2 a=2 b=2 c=2
HMMA.SP.1688.TF32       d=4 a=2 b=2 c=4
HMMA.SP.16816.TF32      d=4 a=4 b=4 c=4
HMMA.SP.16816.F32       d=4 a=2 b=2 c=4
HMMA.SP.16816           d=2 a=2 b=2 c=2
HMMA.1684               d=4 a=2 b=1 c=4
HMMA.1688.TF32          d=4 a=4 b=2 c=4
HMMA.1688.F32           d=4 a=2 b=1 c=4
HMMA.1688               d=2 a=2 b=1 c=2
HMMA.16816.F32          d=4 a=4 b=2 c=4
HMMA.16816              d=2 a=4 b=2 c=2
HMMA.16832.F32          d=4 a=4 b=4 c=4
HMMA.16832              d=2 a=4 b=4 c=2
IMMA.SP.16832           d=4 a=2 b=2 c=4
IMMA.SP.16864.S4 IMMA.SP.16864.U4  d=4 a=2 b=2 c=4
IMMA.SP.16864 IMMA.SP.168128  d=4 a=4 b=4 c=4
IMMA.8816               d=2 a=1 b=1 c=2
IMMA.8832               d=2 a=1 b=1 c=2
IMMA.16816              d=4 a=2 b=1 c=4
IMMA.16832.S4 IMMA.16832.U4  d=4 a=2 b=1 c=4
IMMA.16832              d=4 a=4 b=2 c=4
IMMA.16864              d=4 a=4 b=2 c=4
BMMA.88128              d=2 a=1 b=1 c=2
BMMA.168128             d=4 a=2 b=1 c=4
BMMA.168256             d=4 a=4 b=2 c=4
DMMA.16x8x4             d=8 a=4 b=2 c=8
DMMA.16x8x8             d=8 a=8 b=4 c=8
DMMA.16x8x16            d=8 a=16 b=8 c=8
DMMA                    d=4 a=2 b=2 c=4
QMMA.SF.SP OMMA.SF.SP   d=4 a=4 b=4 c=4 e=2
QMMA.SP.F16             d=2 a=4 b=4 c=2
QMMA.SP                 d=4 a=4 b=4 c=4
QMMA.16816.F16          d=2 a=2 b=1 c=2
QMMA.16832.F16          d=2 a=4 b=2 c=2
QMMA.16816              d=4 a=2 b=1 c=4
QMMA.16832 OMMA.16864   d=4 a=4 b=2 c=4
HGMMA.F32 QGMMA.F32     d=words c=words a=4
HGMMA QGMMA             d=halves c=halves a=4
IGMMA BGMMA             d=words c=words a=4
SYNCS.ARRIVE SYNCS.LD SYNCS.EXCH d=2
STAS                    a=size
TEX TLD TLD4 TXD        d=2 d2=2
TMML TXQ FOOTPRINT      d=2 d2=2
SULD                    d=size
SUST                    a=size b=size c=size
"""

_WIDTHS = {
    "64": 2, "S64": 2, "U64": 2, "F64": 2, "96": 3, "128": 4, "256": 4, "F32x2": 2, "F32x4": 4,
    "F16x4": 2, "F16x8": 4, "BF16x4": 2, "BF16x8": 4, "RG": 2, "RGBA": 4,
}  # fmt: skip
_TYPES = frozenset("F16 F32 F64 BF16 TF32 U8 S8 U16 S16 U32 S32 U64 S64".split())
TEXTURES = frozenset("TEX TLD TLD4 TXD TMML".split())
"""Fetches from textures."""
_AXES = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3}
_WITH_LEVEL = ("LL", "LB", "LLA", "LBA")

Modifiers = tuple[str, ...]


class _Row(NamedTuple):
    needs: frozenset[str]
    rules: dict[str, str]


@cache
def _rows() -> dict[str, list[_Row]]:
    out: dict[str, list[_Row]] = {}
    for line in _ROWS.strip().splitlines():
        words = line.split()
        rules = dict(w.split("=") for w in words if "=" in w)
        for name in words[: len(words) - len(rules)]:
            op, *needs = name.split(".")
            out.setdefault(op, []).append(_Row(frozenset(needs), rules))
    return out


def register_counts(op: str, modifiers: Modifiers) -> dict[str, int]:
    """Registers that operands cover, by slot; one where a slot is missing."""
    for row in _rows().get(op, ()):
        if row.needs.issubset(modifiers):
            return {slot: _count(op, rule, modifiers) for slot, rule in row.rules.items()}
    return {}


def kept_counts(op: str, modifiers: Modifiers, mask: int) -> dict[str, int]:
    """Registers of two results of which a mask keeps some words (LDG.256) or components (textures),
    without gaps."""
    if "256" in modifiers:
        return {"d": (mask & 15).bit_count(), "d2": (mask >> 4 & 15).bit_count()}
    count = (mask & 15).bit_count()
    if "F16" in modifiers:
        count = (count + 1) // 2
    return {"d": min(count, 2), "d2": max(count - 2, 0)}


class TextureInputs(NamedTuple):
    """What a fetch is given: coordinates with the array's index, and what comes after them (a
    level, offsets, a value to compare with, a handle)."""

    coordinates: int
    more: int
    spread: bool

    def registers(self) -> dict[str, int]:
        """Registers of the two groups, `a` and `b`: `.SCR` has half of all in each."""
        total = self.coordinates + self.more
        first = (total + 1) // 2 if self.spread else self.coordinates
        return {"a": first, "b": total - first}


def texture_inputs(op: str, modifiers: Modifiers, dim: str) -> TextureInputs:
    """What TEX, TLD, TLD4, TXD and TMML are given, by modifiers and the word for dimensions."""
    array, names = dim.startswith("ARRAY_"), set(modifiers)
    axes = _AXES.get(dim.removeprefix("ARRAY_"), 3)
    # Of TLD4 a `.B` may be the component.
    bindless = modifiers.count("B") > (op == "TLD4" and not names & {"R", "G", "A"})
    if op == "TXD":
        return TextureInputs(axes + bindless + (array or "AOFFI" in names), 2 * axes, False)
    more = len(names & {*_WITH_LEVEL, "LC", "AOFFI", "DC"}) + 2 * ("PTP" in names) + bindless
    return TextureInputs(axes + array, more, "SCR" in names)


def conversion_types(op: str, modifiers: Modifiers) -> tuple[str, str]:
    """(result's type, source's type) of a conversion: F2F, F2I, I2F, FRND and kin.

    A size that is not printed is S32 or F32.
    """
    named = [m for m in modifiers if m in _TYPES]
    floats = [m for m in named if "F" in m]
    whole = next((m for m in named if "F" not in m), "S32")
    real = floats[0] if floats else "F32"
    if "F2I" in op:
        return whole, real
    if "I2F" in op:
        return real, whole
    return real, floats[-1] if floats else "F32"


def _columns(modifiers: Modifiers) -> int:
    """Columns of a warp group's result: 128 of `64x128x16`."""
    shape = next((name for name in modifiers if name.startswith("64x")), "64x8x16")
    return int(shape.split("x")[1])


def _count(op: str, rule: str, modifiers: Modifiers) -> int:
    if rule.isdigit():
        return int(rule)
    if rule in ("words", "halves"):
        return _columns(modifiers) // (2 if rule == "words" else 4)
    if rule in ("to", "from"):
        return _WIDTHS.get(conversion_types(op, modifiers)[rule == "from"], 1)
    return max((_WIDTHS.get(m, 1) for m in modifiers), default=1)
