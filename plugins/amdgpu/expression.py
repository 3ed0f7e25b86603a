"""Absolute expressions of the assembler: parsing by its precedence, evaluation in 64 bits.

    primary   ( expr )  [ expr ]  symbol  "symbol"  integer  'c'  real  - + ~ ! primary
              max(...)  or(...)  alignto(...)  extrasgprs(...)  totalnumvgprs(...)  occupancy(...)
    6 * / % << >>    5 | ! & ^    4 + -    3 == != <> < <= > >=    2 &&    1 ||

A comparison gives -1 when true, `&&` and `||` give 1; `>>` is logical and a shift count is taken
modulo 64; `a ! b` is a | ~b; a real stands for its 64 bits as a double.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .cursor import Cursor
from .errors import AsmError
from .lexer import Kind, Token

MAX_DEPTH = 60
"""Nesting beyond this is refused, so that no text can exhaust the stack."""

VARIANTS = frozenset(
    """
    dtprel dtpoff got gotoff gotrel pcrel gotpcrel gotpcrel_norelax gottpoff indntpoff ntpoff
    gotntpoff plt tlscall tlsdesc tlsgd tlsld tlsldm tpoff tprel tlvp tlvppage tlvppageoff page
    pageoff gotpage gotpageoff imgrel secrel32 size abs8 pltoff l h ha high higha higher highera
    highest highesta got@l got@h got@ha tprel@l tprel@h toc tocbase toc@l toc@ha u ie lo hi lo8 hi8
    hlo8 rel32@lo rel32@hi rel64 abs32@lo abs32@hi gotpcrel32@lo gotpcrel32@hi typeindex got@pcrel
    tls mbrel tbrel gdgot gdplt iegot ldgot ldplt local
    """.split()
)
"""What may follow `symbol@`; such a symbol is never absolute."""

_MASK = (1 << 64) - 1


def wrap(value: int) -> int:
    """`value` as a signed 64-bit integer."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


BINARY: Mapping[str, tuple[int, Callable[[int, int], int]]] = {
    "*": (6, operator.mul),
    "/": (6, _divide),
    "%": (6, lambda a, b: a - b * _divide(a, b)),
    "<<": (6, lambda a, b: a << (b & 63)),
    ">>": (6, lambda a, b: (a & _MASK) >> (b & 63)),
    "|": (5, operator.or_),
    "!": (5, lambda a, b: a | ~b),
    "&": (5, operator.and_),
    "^": (5, operator.xor),
    "+": (4, operator.add),
    "-": (4, operator.sub),
    "==": (3, lambda a, b: -(a == b)),
    "!=": (3, lambda a, b: -(a != b)),
    "<>": (3, lambda a, b: -(a != b)),
    "<": (3, lambda a, b: -(a < b)),
    "<=": (3, lambda a, b: -(a <= b)),
    ">": (3, lambda a, b: -(a > b)),
    ">=": (3, lambda a, b: -(a >= b)),
    "&&": (2, lambda a, b: int(bool(a and b))),
    "||": (1, lambda a, b: int(bool(a or b))),
}
"""Operator -> (precedence, meaning); larger binds tighter."""

UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A reference to a symbol that had no constant value when it was read.

    With a relocation variant (`foo@lo`) it never gets one.
    """

    name: str
    variant: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on something that is not a constant yet."""

    name: str
    arguments: tuple[Expression, ...]
    depth: int


Expression = int | Symbol | Operation
"""A constant, or what may become one once its symbols are known."""

OPAQUE = Symbol("")
"""An address: never absolute."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the assembler's own functions depend on.

    Args:
        major: of the architecture, 6..12.
        unified_vgprs: accumulation registers share the VGPR file (gfx90a and later gfx9).
        architected_scratch: scratch is set up by the hardware (gfx940 and later gfx9).
    """

    major: int = 10
    unified_vgprs: bool = False
    architected_scratch: bool = False


def _align(value: int, alignment: int) -> int | None:
    unsigned, step = value & _MASK, alignment & _MASK
    return wrap((unsigned + step - 1) // step * step) if step else None


def _extra_sgprs(target: Target, vcc: int, flat_scratch: int, xnack: int) -> int:
    extra = 2 if vcc else 0
    if target.major >= 10:
        return extra
    if target.major < 8:
        return 4 if flat_scratch else extra
    if flat_scratch or target.architected_scratch:
        return 6
    return 4 if xnack else extra


def _total_vgprs(target: Target, accumulation: int, vector: int) -> int | None:
    if not (target.unified_vgprs and accumulation):
        return max(accumulation, vector)
    aligned = _align(vector, 4)
    return None if aligned is None else aligned + accumulation


_GFX8, _GFX10 = 7, 9
"""Generations as `occupancy` counts them."""

_WAVES_BY_SGPRS: Mapping[bool, tuple[tuple[int, int], ...]] = {
    True: ((80, 10), (88, 9), (100, 8), (_MASK, 7)),
    False: ((48, 10), (56, 9), (64, 8), (72, 7), (80, 6), (_MASK, 5)),
}
"""From gfx8 on or before -> (most SGPRs, waves)."""


def _occupancy(
    most: int, granule: int, total: int, generation: int, initial: int, sgprs: int, vgprs: int
) -> int | None:
    """Waves a SIMD holds, by the registers each takes."""
    waves = initial
    if sgprs:
        rows = _WAVES_BY_SGPRS[generation >= _GFX8]
        by_sgprs = next(row[1] for row in rows if sgprs <= row[0])
        waves = min(waves, most if generation >= _GFX10 else by_sgprs)
    if vgprs and vgprs >= granule:
        rounded = _align(vgprs, granule)
        if not rounded:
            return None
        waves = min(waves, max(total // rounded, 1), most)
    elif vgprs:
        waves = min(waves, most)
    return waves


def _call(name: str, values: list[int], target: Target) -> int | None:
    if name == "max":
        return max(values)
    if name == "or":
        result = 0
        for value in values:
            result |= value
        return result
    count = _FUNCTIONS[name]
    if len(values) < count:
        return None
    if name == "alignto":
        return _align(values[0], values[1])
    if name == "extrasgprs":
        return _extra_sgprs(target, values[0], values[1], values[2])
    if name == "totalnumvgprs":
        return _total_vgprs(target, values[0], values[1])
    return _occupancy(*values)


_FUNCTIONS: Mapping[str, int] = {
    "max": 0, "or": 0, "alignto": 2, "extrasgprs": 3, "totalnumvgprs": 2, "occupancy": 7,
}  # fmt: skip
"""Function -> number of arguments (0: any)."""


def apply(name: str, values: list[int], target: Target) -> int | None:
    """An operation on constants; None when it has no value (division by zero)."""
    if name in _FUNCTIONS:
        result = _call(name, values, target)
        return None if result is None else wrap(result)
    if len(values) == 1:
        return wrap(int(UNARY[name](values[0])))
    if name in "/%" and values[1] == 0:
        return None
    return wrap(BINARY[name][1](values[0], values[1]))


class Scope:
    """Symbols as the assembler keeps them, and the target its functions ask about.

    `variables` have values, `fixed` ones keep them (`.equiv`), `labels` are addresses, and
    `used` are the variables whose value was looked at through a symbol reference, `forward` the
    directional labels (`1f`) not yet met.
    """

    def __init__(self, target: Target | None = None) -> None:
        self.target = target or Target()
        self.variables: dict[str, Expression] = {}
        self.fixed: set[str] = set()
        self.labels: set[str] = set()
        self.used: set[str] = set()
        self.forward: list[tuple[str, Token]] = []

    def reference(self, name: str) -> Expression:
        """What a symbol in an expression stands for: its constant, or the symbol itself."""
        value = self.variables.get(name)
        return value if isinstance(value, int) else Symbol(name)

    def evaluate(self, expression: Expression, depth: int = 0) -> int | None:
        """The absolute value, or None."""
        if isinstance(expression, int):
            return expression
        if depth > 2 * MAX_DEPTH:
            return None
        if isinstance(expression, Symbol):
            value = self.variables.get(expression.name)
            if value is None or expression.variant:
                return None
            self.used.add(expression.name)
            return self.evaluate(value, depth + 1)
        values = [self.evaluate(argument, depth + 1) for argument in expression.arguments]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        return apply(expression.name, known, self.target)

    def placed(self, expression: Expression, depth: int = 0) -> str:
        """Where the assembler takes an expression to be: "absolute", "address" or unknown ""."""
        if isinstance(expression, int):
            return "absolute"
        if depth > 2 * MAX_DEPTH:
            return ""
        if isinstance(expression, Symbol):
            value = self.variables.get(expression.name)
            if value is not None:
                return self.placed(value, depth + 1)
            return "address" if expression == OPAQUE or expression.name in self.labels else ""
        places = [self.placed(part, depth + 1) for part in expression.arguments]
        others = [place for place in places if place != "absolute"]
        if not others:
            return "absolute"
        if len(others) < len(places):
            return others[0]
        if expression.name == "-" and len(places) == 2:
            return "absolute"
        return next((place for place in others if place), "")

    def mentions(self, expression: Expression, name: str, depth: int = 0) -> bool:
        """Whether the value of `expression` hangs on symbol `name`."""
        if isinstance(expression, int) or depth > 2 * MAX_DEPTH:
            return False
        if isinstance(expression, Symbol):
            value = self.variables.get(expression.name)
            if value is None:
                return expression.name == name
            self.used.add(expression.name)
            return self.mentions(value, name, depth + 1)
        return any(self.mentions(part, name, depth + 1) for part in expression.arguments)


class ExpressionParser:
    """Parses expressions at a cursor."""

    def __init__(self, cursor: Cursor, scope: Scope) -> None:
        self.cursor = cursor
        self.scope = scope
        self.depth = 0

    def absolute(self, expected: str = "") -> int:
        """An absolute expression.

        Args:
            expected: what else could stand here, for the message.

        Raises:
            AsmError: not an expression, or not absolute.
        """
        start = self.cursor.token
        value = self.scope.evaluate(self.expression())
        if value is None:
            what = f"expected {expected} or an absolute expression" if expected else ""
            self.cursor.fail(what or "expected absolute expression", start)
        return value

    def expression(self) -> Expression:
        """An expression, folded as far as it is constant.

        Raises:
            AsmError: as llvm-mc words it; also when nesting exceeds `MAX_DEPTH`.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.cursor.fail(f"expression nests deeper than {MAX_DEPTH} levels")
        result = self.binary(1, self.target_primary())
        if self.cursor.token.punct("@"):
            result = self.modifier(result)
        value = self.scope.evaluate(result)
        self.depth -= 1
        return result if value is None else value

    def modifier(self, expression: Expression) -> Expression:
        """`@variant` after an expression."""
        self.cursor.advance()
        token = self.cursor.token
        if token.kind is not Kind.IDENTIFIER:
            self.cursor.fail("unexpected symbol modifier following '@'")
        if token.text.lower() not in VARIANTS:
            self.cursor.fail(f"invalid variant '{token.text}'")
        symbols = list(_symbols(expression))
        if not symbols:
            self.cursor.fail(f"invalid modifier '{token.text}' (no symbols present)")
        if any(symbol.variant for symbol in symbols):
            self.cursor.fail(f"invalid variant on expression '{token.text}' (already modified)")
        self.cursor.advance()
        return Symbol(symbols[0].name, True)

    def binary(self, least: int, left: Expression) -> Expression:
        """Operators of precedence `least` and above after `left`."""
        while True:
            name = self.operator()
            precedence = BINARY[name][0] if name else 0
            if precedence < least:
                return left
            self.cursor.advance()
            right = self.target_primary()
            following = self.operator()
            if following and precedence < BINARY[following][0]:
                right = self.binary(precedence + 1, right)
            left = self.fold(name, left, right)

    def operator(self) -> str:
        """The binary operator here, or nothing."""
        token = self.cursor.token
        return token.text if token.kind is Kind.PUNCT and token.text in BINARY else ""

    def fold(self, name: str, *arguments: Expression) -> Expression:
        """An operation: its value when constant."""
        constants = [argument for argument in arguments if isinstance(argument, int)]
        if len(constants) == len(arguments):
            value = apply(name, constants, self.scope.target)
            return Operation(name, arguments, 1) if value is None else value
        depth = 1 + max((a.depth for a in arguments if isinstance(a, Operation)), default=0)
        if depth > MAX_DEPTH:
            self.cursor.fail(f"expression nests deeper than {MAX_DEPTH} levels")
        return Operation(name, arguments, depth)

    def target_primary(self) -> Expression:
        """A primary; here, and not under a unary operator, the target's functions are known."""
        token = self.cursor.token
        called = token.kind is Kind.IDENTIFIER and self.cursor.peek().punct("(")
        if called and token.text in _FUNCTIONS:
            return self.call(token.text)
        return self.primary()

    def call(self, name: str) -> Expression:
        """`max(a, b)` and its kin."""
        cursor = self.cursor
        cursor.advance()
        cursor.advance()
        arguments: list[Expression] = []
        commas = 0
        while not cursor.take(")"):
            arguments.append(self.expression())
            if cursor.take(","):
                commas += 1
            elif not cursor.token.punct(")"):
                cursor.fail(f"unexpected token in {name} expression")
        if not arguments:
            cursor.fail(f"empty {name} expression")
        if commas + 1 != len(arguments):
            cursor.fail(f"mismatch of commas in {name} expression")
        return self.fold(name, *arguments[: _FUNCTIONS[name] or None])

    def primary(self) -> Expression:
        """A primary of any target."""
        token = self.cursor.token
        if token.kind is Kind.PUNCT and token.text in UNARY:
            return self.unary(token.text)
        if token.kind is Kind.INTEGER:
            return self.number(token)
        if token.kind is Kind.REAL:
            self.cursor.advance()
            return wrap(double_bits(token.text))
        if token.kind in (Kind.IDENTIFIER, Kind.STRING) or token.text in ("$", "*", "@"):
            return self.symbol(token)
        if token.punct("("):
            self.cursor.advance()
            inner = self.expression()
            self.cursor.expect(")", "expected ')'")
            return inner
        if token.punct("["):
            self.cursor.advance()
            inner = self.expression()
            self.cursor.expect("]", "expected ']' in brackets expression")
            return inner
        if token.punct("."):
            self.cursor.advance()
            return OPAQUE
        if token.kind is Kind.ERROR:
            raise LexicalError(token)
        if token.kind is Kind.BIG:
            self.cursor.fail("literal value out of range for directive")
        self.cursor.fail("unknown token in expression")

    def unary(self, name: str) -> Expression:
        """Signs, `~` and `!`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.cursor.fail(f"expression nests deeper than {MAX_DEPTH} levels")
        self.cursor.advance()
        result = self.fold(name, self.primary())
        self.depth -= 1
        return result

    def number(self, token: Token) -> Expression:
        """An integer, or a directional label such as `1b`."""
        self.cursor.advance()
        following = self.cursor.token
        if following.kind is not Kind.IDENTIFIER:
            return token.value
        name, at, variant = following.text.partition("@")
        if at and variant.lower() not in VARIANTS:
            self.cursor.fail(f"invalid variant '{variant}'")
        if name not in ("b", "f"):
            return token.value
        if name == "b" and str(token.value) not in self.scope.labels:
            self.cursor.fail("directional label undefined", token)
        self.cursor.advance()
        if name == "f":
            self.scope.forward.append((str(token.value), token))
        return Symbol("", bool(variant))

    def symbol(self, token: Token) -> Expression:
        """A symbol reference, with its variant."""
        name = take_identifier(self.cursor)
        if name is None and self.cursor.token.text in ("$", "*"):
            self.cursor.fail("invalid token in expression", token)
        if not name:
            self.cursor.fail("expected a symbol reference")
        if token.kind is Kind.STRING:
            return self.quoted(name)
        base, _, variant = name.partition("@")
        if not variant:
            return self.scope.reference(name)
        if variant.lower() not in VARIANTS:
            raise AsmError(f"invalid variant '{variant}'", token.line, token.column + len(base) + 1)
        return Symbol(base, True)

    def quoted(self, name: str) -> Expression:
        """A quoted symbol: a variant follows as tokens of its own."""
        if not self.cursor.take("@"):
            return self.scope.reference(name)
        start = self.cursor.token
        variant = take_identifier(self.cursor)
        if variant is None:
            self.cursor.fail("expected symbol variant after '@'", start)
        if variant and variant.lower() not in VARIANTS:
            self.cursor.fail(f"invalid variant '{variant}'", start)
        return Symbol(name, True) if variant else self.scope.reference(name)


def _symbols(expression: Expression) -> Iterator[Symbol]:
    if isinstance(expression, Symbol):
        yield expression
    elif isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from _symbols(argument)


class LexicalError(Exception):
    """The parser met text that is no token; the statement decides how to word it."""

    def __init__(self, token: Token) -> None:
        super().__init__(token.text)
        self.token = token


def take_identifier(cursor: Cursor) -> str | None:
    """Step over an identifier, a quoted one, or `$name`/`@name`; None when there is none."""
    token = cursor.token
    if token.kind is Kind.PUNCT and token.text in ("$", "@"):
        following = cursor.peek()
        if following.kind not in (Kind.IDENTIFIER, Kind.INTEGER) or following.start != token.end:
            return None
        cursor.advance()
        return token.text + cursor.advance().text
    if token.kind not in (Kind.IDENTIFIER, Kind.STRING):
        return None
    cursor.advance()
    return token.text[1:-1] if token.kind is Kind.STRING else token.text


def double_bits(text: str) -> int:
    """The 64 bits of a floating-point literal as a double; an exponent may lack its digits."""
    try:
        if text[:2] in ("0x", "0X"):
            value = float.fromhex(text)
        else:
            value = float(text.rstrip("+-").rstrip("eE"))
    except OverflowError:
        value = float("inf")
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])
