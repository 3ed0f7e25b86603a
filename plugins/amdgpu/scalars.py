"""Scalar registers in assembler text: names, codes, and the errors of names that do not fit.

A 7-bit field of the instruction holds the code.  The assembler also takes `scc`, `src_vccz`,
`src_execz` and `src_pops_exiting_wave_id`, whose codes have 8 bits, and cuts them to 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from .cursor import Cursor
from .expression import MAX_DEPTH, ExpressionParser, Scope
from .lexer import Kind, Token
from .registers import Processor, Scalars

NOT_HERE = "register not available on this GPU"
NO_EXECZ = "execz and vccz are not supported on this GPU"


@dataclass(frozen=True, slots=True)
class Special:
    """A register with a name of its own.

    Args:
        printed: its name as printed.
        code: 7-bit field value; None when the instructions here cannot take it.
        group: name of the feature it needs ("" when it is everywhere).
        missing: the error where the feature is missing.
        late: that error comes only once everything else fits.
    """

    printed: str
    code: int | None = None
    group: str = ""
    missing: str = NOT_HERE
    late: bool = False


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """A register as an operand.

    Args:
        printed: its name as printed; "" for what cannot be printed here.
        code: 7-bit field value; None when it is no 32-bit scalar register.
        refusal: error that stands once everything else fits.
    """

    printed: str
    code: int | None
    refusal: str = ""


_PAIRS: Mapping[str, tuple[int | None, str]] = {
    "vcc": (106, ""), "exec": (126, ""), "flat_scratch": (None, "flat_scratch"),
    "xnack_mask": (104, "xnack_mask"), "tba": (None, "tba_tma"), "tma": (None, "tba_tma"),
}  # fmt: skip
"""Pair -> (code of its low half unless `codes` has it, feature)."""

_SOURCES: Mapping[str, tuple[int | None, str, str]] = {
    "shared_base": (None, "apertures", NOT_HERE),
    "shared_limit": (None, "apertures", NOT_HERE),
    "private_base": (None, "apertures", NOT_HERE),
    "private_limit": (None, "apertures", NOT_HERE),
    "pops_exiting_wave_id": (239 & 127, "pops", NOT_HERE),
    "lds_direct": (None, "", ""),
    "vccz": (251 & 127, "execz_vccz", NO_EXECZ),
    "execz": (252 & 127, "execz_vccz", NO_EXECZ),
    "scc": (253 & 127, "", ""),
}
"""Source operands that also go by `src_NAME` -> (code cut to 7 bits, feature, error)."""

_WIDTHS = {
    "v": frozenset({*range(1, 13), 16, 32}),
    "a": frozenset({*range(1, 13), 16, 32}),
    "s": frozenset({*range(1, 13), 16}),
    "ttmp": frozenset({1, 2, 4, 8, 16}),
}
"""Numbers of 32-bit registers a tuple can have."""

_COUNTS = {"v": 256, "a": 256, "s": 106, "ttmp": 16}
_PREFIXES = (("v", "v"), ("s", "s"), ("ttmp", "ttmp"), ("acc", "a"), ("a", "a"))


@cache
def _specials(codes: tuple[tuple[str, int], ...]) -> Mapping[str, Special]:
    moved = dict(codes)
    found = {
        "m0": Special("m0", moved["m0"]),
        "null": Special(
            "null", moved.get("null"), "null", "'null' operand is not supported on this GPU"
        ),
        "pc": Special("pc"),
    }
    for name, (code, group) in _PAIRS.items():
        low = moved.get(name, code)
        found[name] = Special(name, None, group)
        for step, half in enumerate(("lo", "hi")):
            code_of_half = None if low is None else low + step
            found[f"{name}_{half}"] = Special(f"{name}_{half}", code_of_half, group)
    for name, (code, group, missing) in _SOURCES.items():
        late = missing == NO_EXECZ
        found[name] = found[f"src_{name}"] = Special(f"src_{name}", code, group, missing, late)
    return found


def specials(scalars: Scalars) -> Mapping[str, Special]:
    """Registers with names of their own, those this processor lacks included."""
    return _specials(tuple(sorted(scalars.codes.items())))


@cache
def _names(codes: tuple[tuple[str, int], ...], features: frozenset[str]) -> Mapping[int, str]:
    found = {}
    for special in _specials(codes).values():
        there = not special.group or special.group in features
        if special.code is not None and there and not special.printed.startswith("src_"):
            found[special.code] = special.printed
    return found


def scalar_name(code: int, processor: Processor) -> str:
    """The name the disassembler prints for a 7-bit field value; the number when it has none."""
    scalars = processor.scalars
    if code <= scalars.last_sgpr:
        return f"s{code}"
    ttmp = code - scalars.codes["ttmp"]
    if 0 <= ttmp < scalars.ttmps:
        return f"ttmp{ttmp}"
    names = _names(tuple(sorted(scalars.codes.items())), scalars.features)
    return names.get(code) or scalars.prints.get(code) or str(code)


def scalar_names(processor: Processor) -> Iterator[str]:
    """The names of all 128 field values."""
    return (scalar_name(code, processor) for code in range(128))


def _regular(text: str) -> tuple[str, str] | None:
    """Kind and the rest of a name such as `s12`; None when it begins like no register file."""
    for prefix, kind in _PREFIXES:
        if text.startswith(prefix):
            return kind, text[len(prefix) :]
    return None


def _index(suffix: str) -> int | None:
    """The number in a register name."""
    if suffix.isascii() and suffix.isdigit() and len(suffix.lstrip("0")) <= 10:
        number = int(suffix)
        return number if number < 1 << 32 else None
    return None


def _cut_half(suffix: str) -> tuple[str, bool]:
    """A suffix without `.l` or `.h`, and whether it had one."""
    for half in (".l", ".h"):
        if suffix.endswith(half):
            return suffix[:-2], True
    return suffix, False


def is_register(token: Token, following: Token, processor: Processor) -> bool:
    """Whether a register or a list of registers starts here."""
    if token.punct("["):
        return True
    if token.kind is not Kind.IDENTIFIER:
        return False
    regular = _regular(token.text)
    if regular is not None:
        _, suffix = regular
        if suffix == "":
            if following.punct("["):
                return True
        elif _index(suffix.removesuffix(".l").removesuffix(".h")) is not None:
            return True
    return token.text in specials(processor.scalars)


@dataclass(frozen=True, slots=True)
class _Tuple:
    """Consecutive registers: kind (`special` for named ones), first index, how many."""

    kind: str
    first: int
    count: int
    special: Special | None = None
    half: bool = False


class RegisterParser:
    """Parses a register at a cursor."""

    def __init__(self, cursor: Cursor, scope: Scope, processor: Processor) -> None:
        self.cursor = cursor
        self.scope = scope
        self.processor = processor
        self.scalars = processor.scalars
        self.depth = 0

    def parse(self) -> RegisterOperand:
        """A register, a range `s[lo:hi]` or a list `[s0, s1]`.

        Raises:
            AsmError: in llvm-mc 19's words.
        """
        found = self._any()
        if found.special is not None:
            special = found.special
            code = special.code if found.count == 1 else None
            return RegisterOperand(special.printed, code, self._missing(special))
        if found.kind in ("v", "a") or found.count != 1 or found.half:
            return RegisterOperand("", None)
        base = self.scalars.codes["ttmp"] if found.kind == "ttmp" else 0
        return RegisterOperand(f"{found.kind}{found.first}", base + found.first)

    def _any(self) -> _Tuple:
        start = self.cursor.token
        if start.kind is not Kind.IDENTIFIER:
            found = self._list()
        else:
            special = specials(self.scalars).get(start.text)
            if special is not None:
                self.cursor.advance()
                found = _Tuple("special", 0, 1, special)
            else:
                found = self._file(start)
        self._check_available(found, start)
        return found

    def _file(self, start: Token) -> _Tuple:
        regular = _regular(start.text)
        if regular is None:
            self.cursor.fail("invalid register name", start)
        kind, suffix = regular
        self.cursor.advance()
        if not suffix:
            first, count = self._range()
            return self._checked(_Tuple(kind, first, count), start)
        digits, half = _cut_half(suffix)
        index = _index(digits)
        if index is None:
            self.cursor.fail("invalid register index", start)
        return self._checked(_Tuple(kind, index, 1, half=half), start)

    def _range(self) -> tuple[int, int]:
        cursor = self.cursor
        cursor.expect("[", "missing register index")
        low_token = cursor.token
        low = high = ExpressionParser(cursor, self.scope).absolute()
        high_token = low_token
        if cursor.take(":"):
            high_token = cursor.token
            high = ExpressionParser(cursor, self.scope).absolute()
        cursor.expect("]", "expected a closing square bracket")
        for value, token in ((low, low_token), (high, high_token)):
            if not 0 <= value < 1 << 32:
                cursor.fail("invalid register index", token)
        if low > high:
            cursor.fail("first register index should not exceed second index", low_token)
        return low, high - low + 1

    def _checked(self, found: _Tuple, at: Token) -> _Tuple:
        """Refuse a tuple that the register file does not have."""
        scalar = found.kind in ("s", "ttmp")
        step = min(1 << (found.count - 1).bit_length(), 4) if scalar else 1
        if found.first % step:
            self.cursor.fail("invalid register alignment", at)
        if found.count not in _WIDTHS[found.kind]:
            self.cursor.fail("invalid or unsupported register size", at)
        if found.first + found.count > _COUNTS[found.kind]:
            self.cursor.fail("register index is out of range", at)
        return found

    def _list(self) -> _Tuple:
        start = self.cursor.token
        self.cursor.expect("[", "expected a register or a list of registers")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.cursor.fail(f"register list nests deeper than {MAX_DEPTH} levels", start)
        found = self._single()
        while self.cursor.take(","):
            at = self.cursor.token
            found = self._joined(found, self._single(), at)
        self.cursor.expect("]", "expected a comma or a closing square bracket")
        self.depth -= 1
        return found if found.special is not None else self._checked(found, start)

    def _single(self) -> _Tuple:
        at = self.cursor.token
        found = self._any()
        if found.count != 1:
            self.cursor.fail("expected a single 32-bit register", at)
        return found

    def _joined(self, found: _Tuple, following: _Tuple, at: Token) -> _Tuple:
        if following.kind != found.kind:
            self.cursor.fail("registers in a list must be of the same kind", at)
        if found.special is None or following.special is None:
            if following.first != found.first + found.count or following.half or found.half:
                self.cursor.fail("registers in a list must have consecutive indices", at)
            return _Tuple(found.kind, found.first, found.count + 1)
        pair = found.special.printed.removesuffix("_lo")
        halves = f"{pair}_lo" == found.special.printed and pair in _PAIRS
        if not halves or following.special.printed != f"{pair}_hi" or found.count != 1:
            self.cursor.fail("register does not fit in the list", at)
        return _Tuple("special", 0, 2, specials(self.scalars)[pair])

    def _missing(self, special: Special) -> str:
        group = special.group
        return special.missing if group and group not in self.scalars.features else ""

    def _check_available(self, found: _Tuple, at: Token) -> None:
        if found.special is not None:
            error = "" if found.special.late else self._missing(found.special)
            if error:
                self.cursor.fail(error, at)
        elif found.kind == "ttmp" and found.first + found.count > self.scalars.ttmps:
            self.cursor.fail(NOT_HERE, at)
        elif found.kind == "s" and found.first + found.count > self.scalars.last_sgpr + 1:
            self.cursor.fail(NOT_HERE, at)
