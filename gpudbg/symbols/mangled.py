"""C++ function names with their parameters, from the Itanium ABI's mangled ones: `ns::f<4>(int)`.

`gpudbg.formats.names` shortens labels for listings; this module reads more of the grammar, to tell
overloads and instantiations apart.  Read are nested, local and template names, substitutions,
pointers, references, arrays, functions and builtin types; anything else is left unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from gpudbg.formats.names import SUFFIXES, TYPES, plain_name

BUILTIN = TYPES | {
    "w": "wchar_t", "n": "__int128", "o": "unsigned __int128", "e": "long double",
    "g": "__float128", "z": "...", "Dh": "half", "Di": "char32_t", "Ds": "char16_t",
    "Dn": "decltype(nullptr)", "Da": "auto", "Dc": "decltype(auto)", "Du": "char8_t",
}  # fmt: skip
"""<builtin-type> of the ABI, section 5.1.5.2."""
OPERATORS = {
    "cl": "()", "ix": "[]", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "eq": "==",
    "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "aS": "=", "pL": "+=", "mI": "-=",
    "mL": "*=", "dV": "/=", "ls": "<<", "rs": ">>", "an": "&", "or": "|", "eo": "^", "co": "~",
    "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "pt": "->", "ng": "-", "de": "*",
    "ad": "&", "nw": " new", "dl": " delete", "na": " new[]", "da": " delete[]", "rM": "%=",
    "lS": "<<=", "rS": ">>=", "aN": "&=", "oR": "|=", "eO": "^=", "cm": ",", "pm": "->*",
    "ss": "<=>", "ps": "+",
}  # fmt: skip
"""<operator-name> of the ABI, section 5.1.3.4."""
SHORT = {
    "St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string",
    "Si": "std::istream", "So": "std::ostream", "Sd": "std::iostream",
}  # fmt: skip
UNARY = ("nt", "ng", "co", "ad", "de")
BINARY = ("aa", "oo", "eq", "ne", "lt", "gt", "le", "ge", "pl", "mi", "ml", "dv", "rm", "an", "or")
"""Operators in expressions: what a return type or an argument depends on."""
LITERALS = SUFFIXES | {"i": ""}
MARKS = {"P": "*", "R": "&", "O": "&&"}
MAX_LENGTH = 1000
MAX_DEPTH = 40
MAX_TYPES = 5000
"""Of a name: expansions of packs inside of expansions would grow without an end."""

Type = tuple[str, str]
"""What stands before and after a declared name: (`int (*`, `)(float)`)."""


class _UnreadError(Exception):
    """The name uses what this module does not read."""


@lru_cache(maxsize=8192)
def function_name(label: str) -> str | None:
    """`ns::f<4>(int)` of a mangled function; None where it is not one, or is not read."""
    if not label.startswith("_Z") or len(label) > MAX_LENGTH:
        return None
    reader = _Reader(label)
    try:
        text = reader.encoding()
    except (_UnreadError, IndexError):
        return None
    return text if reader.at == len(label) else None


@lru_cache(maxsize=8192)
def short_name(label: str) -> str:
    """A function's or type's name without parameters: `ns::S<int>::f`, `Box::operator()`.

    The label itself where it is not read.
    """
    plain = plain_name(label)
    if not plain.startswith("_Z"):
        return plain
    whole = function_name(label)
    return label if whole is None else _without_parameters(whole)


def _without_parameters(name: str) -> str:
    """`f(int, g(char)) const` -> `f`; a lambda's own parameters are part of its name."""
    text = name.removesuffix(" const")
    if not text.endswith(")") or text.endswith("operator()"):
        return text
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if not depth:
            return text[:at]
    return text


def _last_part(name: str) -> str:
    """`vec` of `ns::vec<ns::pair<int>, 4>`: what a constructor is called by."""
    depth, start = 0, 0
    for at, letter in enumerate(name):
        depth += {"<": 1, "(": 1, "{": 1, "[": 1, ">": -1, ")": -1, "}": -1, "]": -1}.get(letter, 0)
        if letter == ":" and not depth:
            start = at + 1
    return name[start:]


class _Pack(str):
    """A template argument that is several: their text, and each."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, parts: list[str]) -> _Pack:
        made = cls(", ".join(part for part in parts if part))
        made.parts = tuple(parts)
        return made


class _Reader:
    """A mangled name, and how far it is read."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth, self.work = text, 2, 0, 0
        self.seen: list[Type] = []
        self.arguments: list[str] = []
        self.template, self.const, self.returns = False, "", True
        # Which element of a pack an expansion is at, and how many those have that it met.
        self.element, self.elements = -1, -1
        # Within the parameters of a lambda, where a template parameter is `auto`.
        self.generic = False

    # ---- what is next ------------------------------------------------------------------
    def next(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def take(self, word: str) -> bool:
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def match(self, pattern: str) -> re.Match[str]:
        m = re.compile(pattern).match(self.text, self.at)
        if m is None:
            raise _UnreadError
        self.at = m.end()
        return m

    def until_end(self, read: Callable[[], str]) -> list[str]:
        """What `read` finds up to the closing `E`."""
        out: list[str] = []
        while not self.take("E"):
            if self.at >= len(self.text):
                raise _UnreadError
            out.append(read())
        return out

    # ---- names -------------------------------------------------------------------------
    def encoding(self) -> str:
        """A function's name with its parameters; a variable's name alone."""
        if self.next(2) in _TABLES:
            self.at += 2
            return _TABLES[self.text[self.at - 2 : self.at]] + _written(self.type())
        if self.take("Th"):
            self.match(r"n?\d+_")
            return "non-virtual thunk to " + self.encoding()
        outer, self.returns = self.returns, True
        self.template, self.const = False, ""
        name = self.name()
        template, const = self.template and self.returns, self.const
        self.returns = outer
        if self.next() in ("", "E"):
            return name
        if template:
            self.type()
        return f"{name}({self.parameters()}){const}"

    def parameters(self) -> str:
        rows = []
        while self.next() not in ("", "E"):
            rows.append(_written(self.type()))
        return "" if rows == ["void"] else ", ".join(r for r in rows if r)

    def name(self) -> str:
        if self.take("N"):
            return self.nested()
        if self.take("Z"):
            outer = self.encoding()
            if not self.take("E"):
                raise _UnreadError
            inner = self.name()
            self.match(r"(_\d+|__\d+_)?")
            return f"{outer}::{inner}"
        if self.next() == "S" and self.next(2) != "St":
            name = self.substitution()[0]
        else:
            name = "std::" * self.take("St") + self.unqualified("")
            if self.next() == "I":
                self.seen.append((name, ""))
        return self.with_arguments(name)

    def with_arguments(self, name: str) -> str:
        self.template = self.next() == "I"
        if not self.template:
            return name
        return name + " " * name.endswith("<") + self.template_arguments()

    def nested(self) -> str:
        """The parts after `N`, each of which later ones may stand for."""
        qualifiers = self.match("[rVKRO]*")[0]
        whole = ""
        while not self.take("E"):
            if self.next() == "I" and whole:
                whole = self.with_arguments(whole)
            elif self.next() == "S":
                whole = self.substitution()[0]
                continue
            elif self.next() == "T":
                whole = self.parameter()[0]
            else:
                self.template = False
                part = self.unqualified(_last_part(whole))
                whole = "::".join(p for p in (whole, part) if p)
            if self.next() != "E":
                self.seen.append((whole, ""))
        self.const = " const" * ("K" in qualifiers) + " volatile" * ("V" in qualifiers)
        self.const += " &" * ("R" in qualifiers) + " &&" * ("O" in qualifiers)
        return whole

    def unqualified(self, owner: str) -> str:
        """One part of a name with its ABI tags; `owner` is what constructors are called by."""
        part = self._unqualified(owner)
        while self.next(2)[:1] == "B" and self.next(2)[1:].isdigit():
            self.at += 1
            end = int(self.match(r"[1-9]\d*")[0]) + self.at
            part, self.at = f"{part}[abi:{self.text[self.at : end]}]", end
        return part

    def _unqualified(self, owner: str) -> str:
        self.take("L")
        if self.next().isdigit():
            end = int(self.match(r"[1-9]\d*")[0]) + self.at
            part, self.at = self.text[self.at : end], end
            if end > len(self.text):
                raise _UnreadError
            hidden = part.startswith("_INTERNAL_")
            return "" if hidden else _ANONYMOUS if part.startswith("_GLOBAL__N_") else part
        code, self.at = self.next(2), self.at + 2
        if code in ("C1", "C2", "C3", "C4", "D0", "D1", "D2", "D4", "cv"):
            self.returns = False
        if code[0] in "CD" and code[1:].isdigit():
            return "~" * (code[0] == "D") + owner.partition("<")[0].partition("[")[0]
        if code == "cv":
            return f"operator {_written(self.type())}"
        if code == "Ul":
            return f"{{lambda({self.lambda_parameters()})#{self.discriminator()}}}"
        if code == "Ut":
            return f"{{unnamed type#{self.discriminator()}}}"
        if code not in OPERATORS:
            raise _UnreadError
        return f"operator{OPERATORS[code]}"

    def discriminator(self) -> int:
        """Which of the lambdas or unnamed types of a scope."""
        number = self.match(r"(\d*)_")[1]
        return int(number) + 2 if number else 1

    def lambda_parameters(self) -> str:
        """What a lambda takes; its `auto` parameters are counted."""
        outer, self.generic = self.generic, True
        kinds = ", ".join(self.until_end(lambda: _written(self.type())))
        self.generic = outer
        text = _GENERIC.sub(lambda m: f"auto:{int(m[1]) + 1}", kinds)
        return "" if text == "void" else text

    def substitution(self) -> Type:
        if self.next(2) in SHORT:
            self.at += 2
            return SHORT[self.text[self.at - 2 : self.at]], ""
        code = self.match("S([0-9A-Z]*)_")[1]
        before, after = self.seen[int(code, 36) + 1 if code else 0]
        return (before, after) if self.generic else (self.resolved(before), self.resolved(after))

    def resolved(self, text: str) -> str:
        """With the template's arguments for what a lambda's `auto` parameters stood for."""
        return _GENERIC.sub(lambda m: self.arguments[int(m[1])], text)

    # ---- template arguments ------------------------------------------------------------
    def template_arguments(self) -> str:
        self.match("I")
        found = self.until_end(self.argument)
        self.arguments = found
        words = ", ".join(w for w in found if w)
        return f"<{words}{' ' if words.endswith('>') else ''}>"

    def argument(self) -> str:
        if self.take("L"):
            return self.literal()
        if self.take("J"):
            return _Pack.of(self.until_end(self.argument))
        if self.take("X"):
            value = self.expression()
            self.match("E")
            return value
        return _written(self.type())

    def literal(self) -> str:
        if self.take("_Z"):
            name = self.encoding()
            self.match("E")
            return f"&({name})" if "(" in name else name
        kind = self.next()
        known = kind in BUILTIN
        word = "" if known else _written(self.type())
        self.at += known
        m = self.match(r"(n?)(\d+)E")
        value = "-" * bool(m[1]) + m[2]
        if kind == "b":
            return "true" if m[2] != "0" else "false"
        if kind in LITERALS:
            return value + LITERALS[kind]
        return f"({BUILTIN[kind] if known else word}){value}"

    def expression(self) -> str:
        """Calls of parameters and constants: what a return type is derived from."""
        if self.take("cl"):
            called, *rows = self.until_end(self.expression)
            return f"{called}({', '.join(rows)})"
        if self.take("fp"):
            number = self.match(r"(\d*)_")[1]
            return f"{{parm#{int(number) + 2 if number else 1}}}"
        if self.take("L"):
            return self.literal()
        if self.take("sr"):
            return self.member_of_type()
        if self.take("st"):
            return f"sizeof ({_written(self.type())})"
        code = self.next(2)
        if code in UNARY:
            self.at += 2
            return f"{OPERATORS[code]}({self.expression()})"
        if code in BINARY:
            self.at += 2
            return f"({self.expression()}){OPERATORS[code]}({self.expression()})"
        return self.parameter()[0]

    def member_of_type(self) -> str:
        """`is_base_of<T, U>::value`: a name in a type that is known when there are arguments."""
        nested, by_name = self.take("N"), self.next().isdigit()
        parts = [_written(self.type())] if nested or not by_name else []
        if nested or by_name:
            parts += self.until_end(self.simple_name)
        return "::".join([*parts, self.simple_name()])

    def simple_name(self) -> str:
        """A name with its arguments, for which nothing later stands."""
        keep = self.template
        name = self.unqualified("")
        self.template = keep
        return name + (self._arguments_of_type() if self.next() == "I" else "")

    def parameter(self) -> Type:
        code = self.match(r"T(\d*)_")[1]
        index = int(code) + 1 if code else 0
        if self.generic:
            return f"\1{index}\2", ""
        found = self.arguments[index]
        if self.element >= 0 and isinstance(found, _Pack):
            self.elements = len(found.parts)
            return found.parts[self.element] if self.element < len(found.parts) else "", ""
        return found, ""

    def expansion(self) -> str:
        """A pattern for each element of the packs in it."""
        start, seen, outer = self.at, list(self.seen), (self.element, self.elements)
        made: list[str] = []
        self.elements = -1
        while not made or len(made) < self.elements:
            self.at, self.seen, self.element = start, list(seen), len(made)
            made.append(_written(self.type()))
        if not self.elements:
            made.clear()
        self.element, self.elements = outer
        return ", ".join(made)

    # ---- types -------------------------------------------------------------------------
    def type(self) -> Type:
        self.depth += 1
        self.work += 1
        if self.depth > MAX_DEPTH or self.work > MAX_TYPES:
            raise _UnreadError
        found = self._type()
        self.depth -= 1
        return found

    def _type(self) -> Type:
        for size in (1, 2):
            if self.next(size) in BUILTIN:
                self.at += size
                return BUILTIN[self.text[self.at - size : self.at]], ""
        letter = self.next()
        if letter == "S" and self.next(2) != "St":
            made = self.substitution()
            if self.next() != "I":
                return made
            made = made[0] + self._arguments_of_type(), ""
        else:
            made = self._new_type(letter)
        self.seen.append(made)
        return made

    def _new_type(self, letter: str) -> Type:
        """A type that later ones may stand for."""
        if letter in MARKS:
            self.at += 1
            before, after = self.type()
            return _referred(before, MARKS[letter]), after
        if letter in "rVK":
            words = self.match("r?V?K?")[0]
            before, after = self.type()
            more = " const" * ("K" in words) + " volatile" * ("V" in words)
            if after.startswith(") ["):
                # Of an array it is the elements that are constant.
                return f"{before[:-2]}{more} (", after
            return before + more, after
        if letter == "A":
            size = self.match(r"A(\d*)_")[1]
            before, after = self.type()
            return f"{before} (", f") [{size}]{after}"
        if letter == "F":
            return self._function_type()
        if letter == "T":
            return self._of_parameter()
        if self.take("Dp"):
            return self.expansion(), ""
        if self.take("DT") or self.take("Dt"):
            text = self.expression()
            self.match("E")
            return f"decltype({text})", ""
        if letter.isdigit() or letter in "NZS":
            keep = self.template, self.const, self.arguments
            name = self.name()
            self.template, self.const, self.arguments = keep
            return name, ""
        raise _UnreadError

    def _of_parameter(self) -> Type:
        """A template parameter; of a template that is one, what it is with arguments."""
        made = self.parameter()
        if self.next() != "I":
            return made
        self.seen.append(made)
        return made[0] + self._arguments_of_type(), ""

    def _arguments_of_type(self) -> str:
        """Arguments that are none of the function's."""
        keep = self.arguments
        text = self.template_arguments()
        self.arguments = keep
        return text

    def _function_type(self) -> Type:
        self.match("FY?")
        result, *rows = self.until_end(lambda: _written(self.type()))
        return f"{result} (", f")({'' if rows == ['void'] else ', '.join(rows)})"


_ANONYMOUS = "(anonymous namespace)"
_GENERIC = re.compile("\1(\\d+)\2")
"""An `auto` parameter of a lambda, while a name is read."""
_TABLES = {"TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for "}
"""<special-name> of the ABI, section 5.1.4.1."""


def _referred(before: str, mark: str) -> str:
    """A pointer or reference to a type; of a reference to one, the reference it comes down to."""
    if mark == "*" or not before.endswith("&"):
        return before + mark
    return before if mark == "&&" or not before.endswith("&&") else before[:-1]


def _written(made: Type) -> str:
    before, after = made
    if before.endswith(" (") and after.startswith(")"):
        # Nothing is declared between the parentheses: `char [4]`, `int (float)`.
        return f"{before[:-2]} {after[1:].lstrip()}"
    return before + after
