"""Functions of the run-time library that compute on vectors: operands, result, and parameters.

A kernel calls them by the name of the operation and its modifiers (`ffma.RM.FTZ`); what has no row
has no compiled version.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from gpudbg.sm.engines.llvm.runtime import directed


class Outlined(NamedTuple):
    """A library function.

    Attributes:
        operands: bits of each operand.
        result: bits of the result.
        body: the method that emits its body (`runtime.float_bodies`, `runtime.mufu`).
        parameters: what that is given beside the operands.
    """

    operands: tuple[int, ...]
    result: int
    body: str
    parameters: Mapping[str, Any] = MappingProxyType({})


def _rows() -> dict[str, Outlined]:
    rows: dict[str, Outlined] = {}
    for rnd in ("RM", "RP", "RZ"):
        rows[f"fadd.{rnd}"] = Outlined((32, 32), 32, "fadd", {"rnd": rnd})
        for flush in (False, True):
            tail = f"{rnd}.FTZ" if flush else rnd
            rows[f"fmul.{tail}"] = Outlined((32, 32), 32, "fmul", {"rnd": rnd, "flush": flush})
            rows[f"ffma.{tail}"] = Outlined((32, 32, 32), 32, "ffma", {"rnd": rnd, "flush": flush})
    for rnd in ("RN", "RM", "RP", "RZ"):
        for flush in (False, True):
            name = f"f64_to_f32.{rnd}{'.FTZ' if flush else ''}"
            rows[name] = Outlined((64,), 32, "f64_to_f32", {"rnd": rnd, "flush": flush})
        rows[f"dround.{rnd}"] = Outlined((64,), 64, "dround", {"mode": rnd})
        for sign in (False, True):
            name = f"int_to_f32.{'S' if sign else 'U'}.{rnd}"
            rows[name] = Outlined((64,), 32, "int_to_f32", {"signed": sign, "rnd": rnd})
    for sign in (False, True):
        letter = "S" if sign else "U"
        rows[f"int_to_f64.{letter}.RN"] = Outlined((64,), 64, "int_to_f64", {"signed": sign})
        for bits in (8, 16, 32, 64):
            rows[f"f64_to_int.{letter}{bits}"] = Outlined(
                (64,), 64, "f64_to_int", {"signed": sign, "bits": bits}
            )
    for rnd in directed.ROUNDINGS:
        for name, (what, count) in directed.OPERATIONS.items():
            about = {"operation": what, "rnd": rnd}
            rows[f"{name}.{rnd}"] = Outlined((64,) * count, 64, "directed", about)
        for sign in (False, True):
            name = f"int_to_f64.{'S' if sign else 'U'}.{rnd}"
            given = {"signed": sign, "rnd": rnd}
            rows[name] = Outlined((64,), 64, "int_to_f64_directed", given)
    for name in "RSQ LG2 EX2 SIN COS RCP64H RSQ64H SIN_TURNS COS_TURNS TANH".split():
        rows[f"mufu.{name}"] = Outlined((32,), 32, "mufu", {"function": name})
    rows["dadd.RN"] = Outlined((64, 64), 64, "dadd")
    rows["dmul.RN"] = Outlined((64, 64), 64, "dmul")
    rows["dfma.RN"] = Outlined((64, 64, 64), 64, "dfma")
    rows["f32_to_f64"] = Outlined((32,), 64, "f32_to_f64")
    rows["f16_to_f64"] = Outlined((32,), 64, "f16_to_f64")
    for rnd in ("RN", "RZ"):
        rows[f"f64_to_f16.{rnd}"] = Outlined((64,), 32, "f64_to_f16", {"rnd": rnd})
    return rows


OUTLINED: Final = _rows()
"""Name of a library function -> what it is."""
