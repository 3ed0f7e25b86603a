"""Texture and surface instructions of sm_70 and later, in the words that the unit reads.

What they do is what those of Maxwell do; they say it otherwise: the second pair of results comes
first in the text, `.SCR` spreads coordinates and what follows them over both operands, and a handle
is a word of a constant bank, a uniform register, or the first register of the second operand
(`.B`).  Measured: ptxas' output for each PTX form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gpudbg.isa.constant_reads import handle_place
from gpudbg.isa.operands import Imm, Reg
from gpudbg.isa.volta.counts import texture_inputs
from gpudbg.mem.surface_bounds import DIMS

if TYPE_CHECKING:
    from gpudbg.sm.engines.step import StepEngine

ALL_COMPONENTS = 15
_LEVELS = ("LZ", "LL", "LB")
_SIZES = ("U8", "S8", "U16", "S16", "64", "128")
_UPDATES = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS")
_UPDATE_SIZES = ("S32", "U64", "F32", "F16x2", "S64", "SD32", "SD64")
RZ = 255


class Translated:
    """An instruction in the form that `gpudbg.sm.images` reads.

    Attributes:
        op: mnemonic.
        m: modifiers by slot.
        o: operands by slot.
        place: (bank, word) of the constant that is the handle; None with `uniform`.
        uniform: the uniform register that is the handle.
    """

    def __init__(self, op: str, m: Mapping[str, Any], o: Mapping[str, Any]) -> None:
        self.op, self.m, self.o = op, m, o
        self.place: tuple[int, int] | None = None
        self.uniform: int | None = None

    def handle(self, engine: StepEngine) -> int:
        """The handle that all lanes use."""
        if self.uniform is not None:
            return int(engine.ureg(self.uniform)[0])
        assert self.place is not None
        bank, word = self.place
        return int(engine.const(bank, 4 * word)[0])


@lru_cache(maxsize=4096)
def translated(insn: Any) -> Translated:
    """An instruction of a 128-bit set in the unit's words."""
    if insn.op.startswith("SU"):
        return _surface(insn)
    return _query(insn) if insn.op == "TXQ" else _texture(insn)


def _registers(first: int, count: int) -> Any:
    return SimpleNamespace(index=first, count=count)


def _place(found: Translated, insn: Any) -> Translated:
    """Note where the handle is: a uniform register, or a bank and a word of it."""
    uniform = next((o.index for o in insn.operands if isinstance(o, Reg) and o.file == "UR"), None)
    if uniform is not None:
        found.uniform = uniform
    else:
        found.place = handle_place(insn)
    return found


def _mask(insn: Any) -> int:
    """Which components are wanted: the last immediate."""
    numbers = [o.value for o in insn.o.values() if isinstance(o, Imm)]
    return numbers[-1] if numbers else ALL_COMPONENTS


def _texture(insn: Any) -> Translated:
    """Translate TEX, TLD, TLD4, TXD and TMML."""
    o, names = insn.o, insn.m
    dim = next(x.text for x in insn.operands if hasattr(x, "text"))
    lod = next((name for name in names if name in _LEVELS), "")
    if insn.op == "TEX" and not lod:
        # PTX, `tex` without a level takes the base level; the unit is given no other level here.
        lod = "LZ"
    bindless = "B" in names
    m = {
        "dim": dim, "lod": lod, "b": bindless, "lc": "LC" in names, "aoffi": "AOFFI" in names,
        "ptp": "PTP" in names, "dc": "DC" in names, "ms": "MS" in names, "mask": _mask(insn),
        "comp": next((name for name in names if name in ("R", "G", "B", "A")), "R"),
    }  # fmt: skip
    if insn.op == "TLD4":
        m["b"] = bindless = names.count("B") > (m["comp"] == "B")
    given = texture_inputs(insn.op, names, dim)
    counts = given.registers()
    first = o["a"].index
    second = o["b"].index if isinstance(o.get("b"), Reg) and o["b"].file == "R" else RZ
    slots: dict[str, Any] = {"d": o["d"], "d2": o["d2"], "p": o.get("p")}
    if given.spread:
        m["spread"] = True
    slots["a"], slots["b"] = _registers(first, counts["a"]), _registers(second, counts["b"])
    found = Translated(insn.op, m, slots)
    return found if bindless else _place(found, insn)


def _query(insn: Any) -> Translated:
    """Translate TXQ: which property of a header is queried."""
    o = insn.o
    name = next(x for x in insn.operands if hasattr(x, "text"))
    bindless = "B" in insn.m
    m = {"b": bindless, "mask": _mask(insn)}
    slots = {"d": o["d"], "d2": o["d2"], "a": o["a"], "query": name}
    found = Translated(insn.op, m, slots)
    return found if bindless else _place(found, insn)


def _surface(insn: Any) -> Translated:
    """Translate SULD, SUST, SURED and SUATOM."""
    o, names = insn.o, insn.m
    dim = next(name for name in names if name in DIMS)
    sizes = _SIZES if insn.op in ("SULD", "SUST") else _UPDATE_SIZES
    default = "32" if insn.op in ("SULD", "SUST") else "U32"
    size = next((name for name in names if name in sizes), default)
    if size in ("F32", "F16x2"):
        size += ".FTZ.RN" if "FTZ" in names else ".RN"
    m = {
        "mode": "P" if "P" in names else "D", "ba": "BA" in names, "dim": dim, "size": size,
        "clamp": next((name for name in names if name in ("IGN", "TRAP")), ""),
        "rgba": next((name for name in names if name in ("R", "RG")), "RGBA"),
        "op": next((name for name in names if name in _UPDATES), ""),
    }  # fmt: skip
    registers = [x for x in insn.operands if isinstance(x, Reg) and x.file == "R"]
    slots: dict[str, Any] = {"addr": o["addr"], "p": o.get("p")}
    if insn.op in ("SULD", "SUATOM"):
        slots["d"] = registers.pop(0)
    if insn.op != "SULD":
        slots["b"] = registers.pop(0)
    found = Translated(insn.op, m, slots)
    if registers:
        slots["c"] = registers[0]
        return found
    return _place(found, insn)
