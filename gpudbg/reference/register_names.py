"""`gpudbg decode sr`: a special register's fields; names and numbers where words have 128 bits."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from gpudbg.answers import Listing, column, typed_row
from gpudbg.architectures import WIDE, is_wide
from gpudbg.errors import UsageError
from gpudbg.isa.volta.sregs import special_name, special_names, special_number
from gpudbg.regs.decoders import Decoding, decode_sr

_ARCH = "--arch"
_NUMBERS = 256


def decode_special(words: list[str]) -> Decoding:
    """Explain special registers.

    With `--arch sm_70` or later the words are names or numbers and nothing is said of values: what
    the fields of these registers mean is not public.

    Raises:
        UsageError: a register that the architecture does not have.
    """
    arch, rest = _taken(words)
    if not is_wide(arch):
        return decode_sr(words)
    tables = WIDE[arch]
    if rest:
        numbers: Sequence[int] = [_number(word, arch) for word in rest]
    else:
        numbers = sorted(special_names(tables))
    rows = tuple(RegisterName(arch, n, special_name(n, tables)) for n in numbers)
    return Decoding(Listing(rows, str, alone=True))


@typed_row
class RegisterName:
    """A special register of an architecture."""

    arch: str = column()
    number: int = column()
    name: str = column()

    def __str__(self) -> str:
        return f"{self.number:3}  {self.name}"


def _taken(words: Sequence[str]) -> tuple[str, list[str]]:
    """The value of `--arch` ("" without one), and the other words."""
    arch, rest, it = "", list[str](), iter(words)
    for word in it:
        if word == _ARCH:
            arch = next(it, "")
        elif word.startswith(_ARCH + "="):
            arch = word.removeprefix(_ARCH + "=")
        else:
            rest.append(word)
    return arch, rest


def _number(word: str, arch: str) -> int:
    """The number of a register that is named or numbered."""
    try:
        number = int(word, 0)
    except ValueError:
        return _named(word, arch)
    if not 0 <= number < _NUMBERS:
        raise UsageError(f"no special register {word}", f"numbers go from 0 to {_NUMBERS - 1}")
    return number


def _named(word: str, arch: str) -> int:
    """The number of a name, with or without its SR_."""
    tables = WIDE[arch]
    for name in (word, f"SR_{word}"):
        number = special_number(name, tables)
        if number is not None:
            return number
    names = list(special_names(tables).values())
    near = difflib.get_close_matches(f"SR_{word.upper().removeprefix('SR_')}", names, n=3)
    elsewhere = [a for a in ("sm_75", "sm_90", "sm_100", "sm_120") if _has(word, a)]
    hint = f"did you mean {', '.join(near)}?" if near else f"`gpudbg decode sr --arch {arch}`"
    if elsewhere:
        hint = f"{' and '.join(elsewhere)} have it"
    raise UsageError(f"{arch} has no special register {word!r}", hint)


def _has(word: str, arch: str) -> bool:
    return any(special_number(n, WIDE[arch]) is not None for n in (word, f"SR_{word}"))
