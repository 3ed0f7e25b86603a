"""How many consecutive registers an operand covers.

Vector lengths of texture operands follow the texture notes (coordinates and extra words in
printed order); they are documented for the forms compilers emit and inferred for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Mods = dict[str, Any]

_BY_VALUE = {
    "64": 2, "96": 3, "128": 4, "U64": 2, "S64": 2, "F64": 2, "U128": 4, "F64.RN": 2, "SD64": 2,
    True: 2,
}  # fmt: skip
_COORDINATES = {"1D": 1, "1D_BUFFER": 1, "2D": 2, "3D": 3, "CUBE": 3}


def register_count(rule: str, mods: Mods) -> int:
    """Registers covered under `rule`: a number, a named rule, or the modifier that decides."""
    if rule.isdigit():
        return int(rule)
    special = _RULES.get(rule)
    return special(mods) if special else _BY_VALUE.get(mods.get(rule, ""), 1)


def _coordinates(mods: Mods) -> int:
    """Coordinate registers, array index included (ARRAY_2D and 2D_ARRAY spellings)."""
    dim = str(mods["dim"])
    plain = dim.removeprefix("ARRAY_").removesuffix("_ARRAY")
    return _COORDINATES[plain] + (plain != dim)


def _tex_b(mods: Mods) -> int:
    """Handle, level or bias, clamp, offsets, reference or sample of TEX, TLD and TLD4."""
    extras = [mods.get(name) for name in ("b", "lc", "aoffi", "ptp", "ptp", "dc", "ms")]
    words = sum(map(bool, extras)) + (mods.get("lod", "") not in ("", "LZ"))
    return max(words, 1)


def _txd_a(mods: Mods) -> int:
    dim = str(mods["dim"])
    packed = dim.startswith("ARRAY") or mods.get("aoffi")
    plain = _COORDINATES[dim.removeprefix("ARRAY_")]
    return plain + bool(packed) + bool(mods.get("b")) + bool(mods.get("lc"))


def _txd_b(mods: Mods) -> int:
    return 2 * _COORDINATES[str(mods["dim"]).removeprefix("ARRAY_")]


def _texs_extra(mods: Mods) -> int:
    """Words of TEXS and TLDS besides the coordinates."""
    flags = sum(map(bool, (mods.get("dc"), mods.get("aoffi"), mods.get("ms"))))
    return flags + (mods.get("lod") == "LL")


def _texs_a(mods: Mods) -> int:
    words = _coordinates(mods) + _texs_extra(mods)
    array_load = mods["dim"] == "ARRAY_2D" and "ms" in mods
    return 1 if words < 3 or array_load else 2


def _texs_b(mods: Mods) -> int:
    return max(_coordinates(mods) + _texs_extra(mods) - _texs_a(mods), 1)


_RULES: dict[str, Callable[[Mods], int]] = {
    "cas": lambda m: 2 * _BY_VALUE.get(m.get("size", ""), 1),
    "mask": lambda m: max(int(m["mask"]).bit_count(), 1),
    "rgba": lambda m: len(m["rgba"]),
    "comps": lambda m: len(m["comps"]),
    "comps_2": lambda m: len(m["comps"]) - 2,
    "comps_h": lambda m: (len(m["comps"]) + 1) // 2,
    "surf": _coordinates,
    "tex_a": _coordinates,
    "tex_b": _tex_b,
    "txd_a": _txd_a,
    "txd_b": _txd_b,
    "texs_a": _texs_a,
    "texs_b": _texs_b,
    "tld4s_a": lambda m: 2 if m["aoffi"] or m["dc"] else 1,
    "tld4s_b": lambda m: 2 if m["aoffi"] and m["dc"] else 1,
}
