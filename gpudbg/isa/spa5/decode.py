"""Word to instruction: forms found by the top bits, results cached by (word, arch)."""

from __future__ import annotations

from functools import cache

from ...errors import DecodeError
from .forms import all_forms
from .insn import Instruction
from .spec import ARCHS, Form

_INDEX_SHIFT = 51
_CACHE_LIMIT = 1 << 18
NOP_WORD = 0x50B0000000070F00

Candidates = tuple[tuple[int, int, Form], ...]

_caches: dict[str, dict[int, Instruction]] = {arch: {} for arch in ARCHS}


@cache
def _candidates(top: int, arch: str) -> Candidates:
    """(mask, value, form) of the forms that words with bits 63..51 = `top` can match.

    The narrowest come first.
    """
    high = -1 << _INDEX_SHIFT
    word = top << _INDEX_SHIFT
    rows = [
        (form.mask, form.value, form)
        for form in all_forms()
        if not (form.value ^ word) & form.mask & high and arch in form.archs
    ]
    return tuple(sorted(rows, key=lambda r: -r[0].bit_count()))


def decode(word: int, arch: str = "sm_50") -> Instruction:
    """The instruction that `word` encodes on `arch`; the same object for the same word.

    Raises:
        DecodeError: no form matches, or a field holds a reserved value; `reason` says which.
        KeyError: an architecture outside sm_50 .. sm_62.
    """
    cache = _caches[arch]
    try:
        return cache[word]
    except KeyError:
        pass
    found = _decode(word, arch)
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()
    cache[word] = found
    return found


def _decode(word: int, arch: str) -> Instruction:
    if word == 0:
        # The all-zero word reads as NOP although no form has that encoding.
        return Instruction(NOP_WORD, find_form(NOP_WORD, arch), arch)
    form = find_form(word, arch)
    reason = form.reason(word)
    if reason:
        raise DecodeError(f"illegal instruction {word:#018x}: {reason}", word=word, reason=reason)
    return Instruction(word, form, arch)


def find_form(word: int, arch: str) -> Form:
    """The form that matches a word, legal or not.

    Raises:
        DecodeError: no form matches.
    """
    for mask, value, form in _candidates(word >> _INDEX_SHIFT, arch):
        if word & mask == value:
            return form
    reason = f"no instruction of {arch} has this opcode"
    raise DecodeError(f"illegal instruction {word:#018x}: {reason}", word=word, reason=reason)
