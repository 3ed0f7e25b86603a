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
    "ad": "&", "nw": " new", "dl": " delete",
}  # fmt: skip
"""<operator-name> of the ABI, section 5.1.3.4."""
SHORT = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
LITERALS = SUFFIXES | {"i": ""}
MARKS = {"P": "*", "R": "&", "O": "&&"}
MAX_LENGTH = 1000
MAX_DEPTH = 40

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


class _Reader:
    """A mangled name, and how far it is read."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 2, 0
        self.seen: list[Type] = []
        self.arguments: list[str] = []
        self.template, self.const = False, ""
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
        self.template, self.const = False, ""
        name = self.name()
        template, const = self.template, self.const
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
        return name + self.template_arguments() if self.template else name

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
                part = self.unqualified(whole.rpartition("::")[2])
                whole = "::".join(p for p in (whole, part) if p)
            if self.next() != "E":
                self.seen.append((whole, ""))
        self.const = " const" if "K" in qualifiers else ""
        return whole

    def unqualified(self, owner: str) -> str:
        """One part of a name; `owner` is the class that constructors are called by."""
        self.take("L")
        if self.next().isdigit():
            end = int(self.match(r"[1-9]\d*")[0]) + self.at
            part, self.at = self.text[self.at : end], end
            if end > len(self.text):
                raise _UnreadError
            hidden = part.startswith("_INTERNAL_")
            return "" if hidden else _ANONYMOUS if part.startswith("_GLOBAL__N_") else part
        code, self.at = self.next(2), self.at + 2
        if code in ("C1", "C2", "C3", "D0", "D1", "D2"):
            return "~" * (code[0] == "D") + owner.partition("<")[0]
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
            return ", ".join(self.until_end(self.argument))
        if self.take("X"):
            # Of expressions only a parameter by itself is read: `S<M>` in a signature.
            value = self.parameter()[0]
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
        return self.literal() if self.take("L") else self.parameter()[0]

    def parameter(self) -> Type:
        code = self.match(r"T(\d*)_")[1]
        index = int(code) + 1 if code else 0
        return f"\1{index}\2" if self.generic else self.arguments[index], ""

    # ---- types -------------------------------------------------------------------------
    def type(self) -> Type:
        self.depth += 1
        if self.depth > MAX_DEPTH:
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
            return self.type()
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
    return (before + after).replace(" ()", " ")
