"""128-bit word to instruction: forms found by bits 11:0, narrowest match first."""

from __future__ import annotations

from functools import cache

from ...architectures import WIDE
from ...errors import DecodeError
from .insn import WideInstruction
from .spec import NO_UNIFORM, WideForm, forms_of

ARCHS = WIDE
"""Architectures and whose tables they share."""


@cache
def _index(tables: str) -> dict[int, list[WideForm]]:
    out: dict[int, list[WideForm]] = {}
    for form in forms_of(tables):
        out.setdefault(form.value & 0xFFF, []).append(form)
    if tables in NO_UNIFORM:
        for code, forms in out.items():
            for form in forms:
                _scheduled(form, tables, _index("75").get(code, []))
    return out


def _scheduled(form: WideForm, tables: str, others: list[WideForm]) -> None:
    """What the bits of reuse mean in a form that accepts any, from the same form of sm_75.

    sm_70 accepts all their values in every form, sm_72 those that sm_75 accepts.
    """
    if "var" not in form.options:
        return
    found = (o for o in others if o.op == form.op and o.fixed_latency)
    twin = next((o for o in found if o.sources == form.sources), None)
    if twin is not None and tables == "72":
        kept = {name: text for name, text in form.options.items() if name != "var"}
        form.options = kept | {n: t for n, t in twin.options.items() if n == "ctl"}
    else:
        form.twin = twin


@cache
def _candidates(code: int, tables: str) -> tuple[WideForm, ...]:
    """Forms of an opcode, those that fix and use the most bits first."""
    found = _index(tables).get(code, [])

    def narrow(form: WideForm) -> tuple[int, int]:
        return -form.mask.bit_count(), -form.used(tables).bit_count()

    return tuple(sorted(found, key=narrow))


@cache
def candidates_of(tables: str) -> tuple[WideForm, ...]:
    """Every form of an architecture's tables, in the order of the rows."""
    return tuple(form for forms in _index(tables).values() for form in forms)


@cache
def _refusals(form: WideForm, tables: str) -> tuple[tuple[int, frozenset[int]], ...]:
    """(mask, patterns under it) of every field with refused values."""
    out = []
    for site in form.parts(tables)[1]:
        bad = [
            v for v in range(1 << site.bits.width) if v >= len(site.texts) or site.texts[v] is None
        ]
        if bad:
            patterns = frozenset(site.bits.put(v) for v in bad)
            out.append((site.bits.mask, patterns))
    return tuple(out)


RTT_WORD = 0x000FC00000000000_000000000000794F
"""RTT of every lane, as sm_80 takes it."""
_RTT_TABLES = "86"
"""The last tables in which nvdisasm prints RTT."""


def hidden_return(word: int, arch: str) -> WideInstruction | None:
    """RTT on the architectures where nvdisasm accepts its word and prints nothing (sm_89 and
    later), for which `decode` refuses it; None for any other word.
    """
    if (word ^ RTT_WORD) & 0xFFF or any(f.op == "RTT" for f in candidates_of(ARCHS[arch])):
        return None
    try:
        return decode(word, f"sm_{_RTT_TABLES}")
    except DecodeError:
        return None


def decode(word: int, arch: str) -> WideInstruction:
    """The instruction that a 128-bit word encodes.

    Args:
        word: the low 64 bits come first in memory.
        arch: one of `ARCHS`.

    Raises:
        DecodeError: nvdisasm refuses the word, or prints nothing for it; `reason` says why.
        KeyError: an architecture outside `ARCHS`.
    """
    tables = ARCHS[arch]
    reason = f"no instruction of {arch} has this opcode"
    for form in _candidates(word & 0xFFF, tables):
        if word & form.mask != form.value:
            continue
        if any(word & mask in bad for mask, bad in _refusals(form, tables)):
            reason = f"{form.op}: a modifier field holds a value that is not defined"
            continue
        if (word >> 105 & 31) | (word >> 122 & 7) << 5 not in form.controls:
            reason = f"{form.op}: scheduling bits that are not defined (issue code or reuse)"
            break
        mask, value = form.barriers
        if mask and word & mask != (value & ~(0x3F << 116)):
            reason = f"{form.op}: takes no barrier"
            break
        return WideInstruction(word, form, arch, tables)
    raise DecodeError(f"illegal instruction {word:#034x}: {reason}", word=word, reason=reason)
