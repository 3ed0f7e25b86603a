"""Expression text to syntax tree: C operators over registers, memory and CUDA coordinates.

    $R4  $F4 (R4 as float)  $D4 (R4:R5 as double)  $L4 (R4:R5 as u64)  $P0  $CC.Z  $pc  $warp
    SR_TID.X  %tid.x  threadIdx.x  blockIdx  c[0x0][0x140]  shared[4]  *(@shared int*)0x20
    symbol  symbol[3]  symbol[3]@4 (an array of four)  sizeof(int)  $1 $ $$2 (values printed)
    config.scale  node->value  n@entry (what the launch passed for n)
    *(struct Node*)0x20  sizeof(float4[3])  {int[4]}address (types of the program, CUDA's vectors)

Nothing here evaluates; `evaluate.py` does.  Errors are `CommandError` with the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.expr.escapes import unescaped
from gpudbg.expr.types import NOTHING, SPACES, TYPE_WORDS, TYPES, Array, CType, Pointer, Scalar

CONST_BANK = "$_cuda_const_bank"
MAX_DEPTH = 256
"""Nested calls of the parser; one pair of brackets takes four."""
MAX_POINTERS = 16
"""Stars of one type."""
MAX_TREE = 200
"""Levels of a syntax tree; evaluating it calls itself that often."""
MAX_EXTENT = 1 << 20
"""Elements of an array in a type's name."""
KEYWORDS = ("struct", "union", "class", "enum")
_TYPE_NAME = re.compile(r"(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
MAX_DIGITS = 64
"""Digits of a number that fits in 64 bits, in base two."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal."""

    value: int | float
    type: Scalar


@dataclass(frozen=True, slots=True)
class NameNode:
    """A register, coordinate, special register or symbol; `$` and `%` kept."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class ConstBank:
    """c[bank][offset]; with a `name`, elements of the program's variable of that name, if any"""

    bank: Node
    offset: Node
    name: str = ""


@dataclass(frozen=True, slots=True)
class Unary:
    """-x ~x !x *x &x +x sizeof x"""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """x op y"""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Conditional:
    """c ? x : y"""

    condition: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class NamedType:
    """A type that the program declares, as an expression writes it.

    Attributes:
        stars: pointers to it, by the space that each points into.
        extents: of an array of those.
        pointed: the space of a pointer to all that; "" where there is none.
    """

    name: str
    stars: tuple[str, ...] = ()
    extents: tuple[int, ...] = ()
    pointed: str = ""

    def of(self, base: CType) -> CType:
        """The type, where its name is that of `base`."""
        for space in self.stars:
            base = Pointer(space, base)
        base = shaped(base, self.extents)
        return Pointer(self.pointed, base) if self.pointed else base


@dataclass(frozen=True, slots=True)
class Cast:
    """(type) x"""

    type: CType | NamedType
    operand: Node


@dataclass(frozen=True, slots=True)
class SizeOf:
    """sizeof(type); `other` is what it is where the name is no type's but a variable's."""

    type: CType | NamedType
    other: Node | None


@dataclass(frozen=True, slots=True)
class Index:
    """x[i]"""

    base: Node
    index: Node


@dataclass(frozen=True, slots=True)
class MemberNode:
    """x.name, or x->name where x is a pointer"""

    base: Node
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """ "text": characters of the debugger's own, not in the program's memory"""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """$_isvoid(x) and gdb's other functions"""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Assign:
    """x = y"""

    target: Node
    value: Node


Node = (
    Number
    | NameNode
    | ConstBank
    | Unary
    | Binary
    | Conditional
    | Cast
    | SizeOf
    | Index
    | MemberNode
    | Text
    | Call
    | Assign
)
NODES = (
    Number,
    NameNode,
    ConstBank,
    Unary,
    Binary,
    Conditional,
    Cast,
    SizeOf,
    Index,
    MemberNode,
    Text,
    Call,
    Assign,
)
FUNCTIONS = {"$_isvoid": 1, "$_strlen": 1, "$_streq": 2, "$_regex": 2}
"""gdb's convenience functions and how many arguments they take."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?|\d+[eE][-+]?\d+[fF]?)
  | (?P<int>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(?P<suffix>[uUlL]*)
  | (?P<scoped>'[^'\\]+'::[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
  | (?P<char>'(?:[^'\\]|\\.)+')
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<after>(?:\+\+|--)(?=\s*(?:$|[;,)\]:?<>=!|/%^])))
  | (?P<before>(?:\+\+|--)(?=\s*\$[A-Za-z_]))
  | (?P<name>
      (?:[$%]|::)?[A-Za-z_][A-Za-z_0-9$]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*(?:::[A-Za-z_][A-Za-z_0-9]*)*)
  | (?P<member>(?:->\s*|\.)(?:[A-Za-z_]\w*|<(?:[^<>()]|<(?:[^<>()]|<[^<>()]*>)*>)+>))
  | (?P<history>\${1,2}\d*(?!\w))
  | (?P<space>@[a-z]+)
  | (?P<op>(?:<<|>>|[-+*/%&|^])=(?!=)|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>()\[\]{}?:=,@])
    )""",
    re.VERBOSE | re.ASCII,
)

_BINARY = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    "<=": 7,
    ">": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "@": 9,
    "+": 10,
    "-": 10,
    "*": 11,
    "/": 11,
    "%": 11,
}


SPACE_WORDS = dict.fromkeys(("constant", "param", "parameter"), "const")
"""Other names of address spaces."""
QUALIFIERS = ("const", "volatile")
_WORDS_OF_TYPES = TYPE_WORDS.union(QUALIFIERS)
_COMPOUND = frozenset(f"{op}=" for op in ("<<", ">>", *"-+*/%&|^"))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int
    suffix: str = ""


def _tokens(text: str) -> list[_Token]:
    out: list[_Token] = []
    pos = 0
    end = len(text.rstrip())
    while pos < end:
        m = _TOKEN.match(text, pos)
        if not m or m.end() == pos:
            raise CommandError(
                f"expression: unexpected {text[pos:].strip()[:1]!r} at column {pos + 1}"
            )
        kind = m.lastgroup or ""
        if kind == "suffix":
            kind = "int"
        if kind in ("history", "scoped"):
            out.append(_Token("name", m.group(kind), m.start(kind) + 1))
            pos = m.end()
            continue
        out.append(_Token(kind, m.group(kind), m.start(kind) + 1, m.group("suffix") or ""))
        pos = m.end()
    # `%tid` is a name, but `a %b` is a remainder; `@shared` is a space, but `a @n` makes an
    # array: what stands before decides.
    fixed: list[_Token] = []
    for t in out:
        previous = fixed[-1] if fixed else None
        if previous is not None and previous.kind == "name" and t.text == "@entry":
            fixed[-1] = _Token("name", previous.text + t.text, previous.column)
            continue
        qualifier = previous is not None and previous.text in QUALIFIERS and t.kind == "space"
        operand_before = previous is not None and (
            previous.kind in ("int", "float", "name") or previous.text in (")", "]")
        )
        if (
            operand_before
            and not qualifier
            and (t.kind == "space" or (t.kind == "name" and t.text[0] == "%"))
        ):
            fixed.append(_Token("op", t.text[0], t.column))
            fixed.append(_Token("name", t.text[1:], t.column + 1))
        else:
            fixed.append(t)
    return fixed


def _short(text: str) -> str:
    """Text for a message: its end, where it is long."""
    return text if len(text) <= MAX_DIGITS else "…" + text[-MAX_DIGITS:]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def peek(self, ahead: int = 0) -> _Token | None:
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else None

    def next(self) -> _Token:
        t = self.peek()
        if t is None:
            raise CommandError(f"expression ends too early: {_short(self.text)!r}")
        self.at += 1
        return t

    def accept(self, op: str) -> bool:
        t = self.peek()
        if t is not None and t.kind == "op" and t.text == op:
            self.at += 1
            return True
        return False

    def expect(self, op: str) -> None:
        t = self.peek()
        if not self.accept(op):
            found = f"{t.text!r} at column {t.column}" if t else "the end"
            raise CommandError(f"expression: expected {op!r}, found {found}")

    def _deeper(self) -> None:
        """Count a call of the parser by itself.

        Whoever does takes it back on return; after an error the parser is not used again.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CommandError("expression: nested too deeply")

    def expression(self) -> Node:
        self._deeper()
        node = self.conditional()
        if self.accept("="):
            node = Assign(node, self.expression())
        elif (t := self.peek()) is not None and t.kind == "op" and t.text in _COMPOUND:
            self.at += 1
            node = Assign(node, Binary(t.text[:-1], node, self.expression()))
        self.depth -= 1
        return node

    def list(self) -> Node:
        """Expressions with commas between them: the value is the last one's."""
        node = self.expression()
        while self.accept(","):
            node = Binary(",", node, self.expression())
        return node

    def conditional(self) -> Node:
        self._deeper()
        node = self.binary(1)
        if self.accept("?"):
            yes = self.expression()
            self.expect(":")
            node = Conditional(node, yes, self.conditional())
        self.depth -= 1
        return node

    def binary(self, level: int) -> Node:
        self._deeper()
        left = self.unary()
        while True:
            t = self.peek()
            if t is None or t.kind != "op" or _BINARY.get(t.text, 0) < level:
                self.depth -= 1
                return left
            self.at += 1
            left = Binary(t.text, left, self.binary(_BINARY[t.text] + 1))

    def unary(self) -> Node:
        self._deeper()
        node = self._unary()
        self.depth -= 1
        return node

    def _unary(self) -> Node:
        t = self.peek()
        if t is not None and t.kind == "op":
            if t.text in ("-", "~", "!", "*", "&", "+"):
                self.at += 1
                return Unary(t.text, self.unary())
            if t.text == "(" and (type_ := self._cast_type()) is not None:
                return Cast(type_, self.unary())
            if t.text == "{":
                return self.braces()
        if t is not None and t.kind == "space":
            space = SPACE_WORDS.get(t.text[1:], t.text[1:])
            if space not in SPACES:
                raise _no_space(t)
            self.at += 1
            return Unary(f"@{space}", self.unary())
        if t is not None and t.kind == "name" and t.text == "sizeof":
            self.at += 1
            return self.sizeof()
        if t is not None and t.kind == "before":
            self.at += 1
            return _moved(self.unary(), t.text[0])
        return self.postfix()

    def braces(self) -> Node:
        """gdb's `{type} address`."""
        self.expect("{")
        t = self.peek()
        space = t.text[1:] if t is not None and t.kind == "space" else "generic"
        type_ = self._type()
        if type_ is None:
            raise CommandError("expression: a type is expected between { and }")
        self.expect("}")
        pointer: CType | NamedType
        if isinstance(type_, NamedType):
            pointer = replace(type_, pointed=space)
        else:
            pointer = Pointer(space, type_)
        return Unary("*", Cast(pointer, self.unary()))

    def _cast_type(self) -> CType | NamedType | None:
        """What stands in the brackets of a cast; None, nothing read, where they hold a value."""
        start = self.at
        self.at += 1
        builtin, keyword = self._type_follows(0), self._keyword()
        type_ = self._type()
        if type_ is not None and self.accept(")"):
            pointer = isinstance(type_, NamedType) and bool(type_.stars)
            if builtin or keyword or pointer or self._operand_follows():
                return type_
        elif builtin:
            self.expect(")")
        self.at = start
        return None

    def _operand_follows(self) -> bool:
        """Whether what comes next can only begin an operand: `(name) x`, not `(name) - x`."""
        t = self.peek()
        kinds = ("int", "float", "name", "string", "char", "before")
        return t is not None and (t.kind in kinds or t.text in ("(", "~", "!"))

    def _keyword(self) -> bool:
        t = self.peek()
        return t is not None and t.kind == "name" and t.text in KEYWORDS

    def _type(self) -> CType | NamedType | None:
        """A type, its extents included; None where there is no name of one."""
        type_: CType | NamedType | None
        type_ = self.type_name() if self._type_follows(0) else self._named_type()
        if type_ is None:
            return None
        extents: list[int] = []
        while self.accept("["):
            t = self.next()
            if t.kind != "int" or not self.accept("]"):
                return None
            extents.append(int(_integer(t).value))
        if isinstance(type_, NamedType):
            return replace(type_, extents=tuple(extents))
        return shaped(type_, extents)

    def _named_type(self) -> NamedType | None:
        """`struct Node *`, `ns::Box<int>`, `Node`."""
        space = self._space("generic")
        while (t := self.peek()) is not None and t.kind == "name" and t.text in KEYWORDS:
            self.at += 1
        if t is None or t.kind != "name" or _TYPE_NAME.fullmatch(t.text) is None:
            return None
        name = self.next().text.removeprefix("::") + self._template_arguments()
        return NamedType(name, self._pointers(self._space(space)))

    def _template_arguments(self) -> str:
        """`<int, 4>` behind a name; "", nothing read, where that is a comparison."""
        start, depth, words = self.at, 0, []
        while (t := self.peek()) is not None and t.text not in ("(", ")", "}"):
            self.at += 1
            words.append(t.text)
            depth += {"<": 1, ">": -1, ">>": -2}.get(t.text, 0)
            if depth <= 0:
                break
        if words and words[0] == "<" and depth == 0:
            return "".join(words)
        self.at = start
        return ""

    def _template_parts(self) -> str:
        """`<int, 4>::sum` and `<int>` behind a name; "", nothing read, where that is a comparison:
        there an operand stands behind `>`.
        """
        parts = ""
        while True:
            start = self.at
            arguments = self._template_arguments()
            t = self.peek()
            if arguments and t is not None and t.kind == "name" and t.text.startswith("::"):
                parts += arguments + self.next().text
                continue
            if arguments and (t is None or t.text in (")", ",")):
                return parts + arguments
            self.at = start
            return parts

    def _type_follows(self, ahead: int) -> bool:
        t = self.peek(ahead)
        if t is not None and t.text in QUALIFIERS:
            return self._type_follows(ahead + 1)
        if t is not None and t.kind == "space" and t.text[1:] in SPACES:
            t = self.peek(ahead + 1)
            return t is None or t.kind != "name" or t.text in TYPE_WORDS
        return t is not None and (t.kind == "space" or (t.kind == "name" and t.text in TYPE_WORDS))

    def type_name(self) -> CType:
        space = self._space("generic")
        words: list[str] = []
        while (t := self.peek()) is not None and t.text in _WORDS_OF_TYPES:
            word = self.next().text
            if word not in QUALIFIERS:
                words.append(word)
        name = " ".join(words)
        base: CType
        if name == "void":
            base = NOTHING
        elif name in TYPES:
            base = TYPES[name]
        else:
            raise CommandError(f"unknown type {name!r}" if name else "expected a type name")
        for there in self._pointers(self._space(space)):
            base = Pointer(there, base)
        return base

    def _space(self, otherwise: str) -> str:
        """The address space among qualifiers (`const @global`)."""
        while (t := self.peek()) is not None:
            if t.kind == "space":
                otherwise = SPACE_WORDS.get(t.text[1:], t.text[1:])
                if otherwise not in SPACES:
                    raise _no_space(t)
            elif t.text not in QUALIFIERS:
                break
            self.at += 1
        return otherwise

    def _pointers(self, space: str) -> tuple[str, ...]:
        """The `*` behind a type: the space that each points into, that of the next one behind it
        (`int * @local *`).

        Args:
            space: of what is pointed at.
        """
        found: list[str] = []
        while self.accept("*"):
            found.append(space)
            if len(found) > MAX_POINTERS:
                raise CommandError(f"a type of more than {MAX_POINTERS} pointers")
            space = self._space("generic")
        return tuple(found)

    def postfix(self) -> Node:
        node = self.primary()
        while True:
            t = self.peek()
            if t is not None and t.kind == "member":
                self.at += 1
                node = MemberNode(node, t.text.removeprefix("->").lstrip(". \t"))
                continue
            if t is not None and t.kind == "after":
                self.at += 1
                back = "-" if t.text == "++" else "+"
                node = Binary(back, _moved(node, t.text[0]), Number(1, TYPES["int"]))
                continue
            if t is not None and t.text == "(" and isinstance(node, NameNode | MemberNode):
                node = self.applied(node)
                continue
            if not self.accept("["):
                return node
            index = self.expression()
            self.expect("]")
            if isinstance(node, NameNode) and node.text == "c" and self.accept("["):
                # The evaluator takes it for elements where the program has a `c` of its own.
                node = ConstBank(index, self.expression(), "c")
                self.expect("]")
            else:
                node = Index(node, index)

    def applied(self, node: NameNode | MemberNode) -> Node:
        """`float(x)`: a cast; of all other names a call, which there is none of."""
        name = node.text if isinstance(node, NameNode) else node.name
        if not isinstance(node, NameNode) or name not in TYPES:
            raise CommandError(
                f"{name}(…): expressions call no functions of the program",
                "a breakpoint in it and `finish` show what it returns",
            )
        self.expect("(")
        operand = self.expression()
        self.expect(")")
        return Cast(TYPES[name], operand)

    def primary(self) -> Node:
        t = self.next()
        if t.kind == "int":
            return _integer(t)
        if t.kind == "float":
            single = t.text[-1] in "fF"
            return Number(float(t.text.rstrip("fF")), TYPES["float" if single else "double"])
        if t.kind == "char":
            return _character(t)
        if t.kind == "name" and t.text == CONST_BANK:
            return self.const_bank()
        if t.kind == "string":
            return self.string(t)
        if t.kind == "name" and t.text in FUNCTIONS:
            return self.call(t)
        if t.kind == "name":
            following = self.peek()
            if t.text.startswith("$_") and following is not None and following.text == "(":
                raise CommandError(
                    f"there is no function {t.text}", f"there are {', '.join(FUNCTIONS)}"
                )
            return NameNode(t.text + self._template_parts(), t.column)
        if t.text == "(":
            node = self.list()
            self.expect(")")
            return node
        raise CommandError(f"expression: unexpected {t.text!r} at column {t.column}")

    def string(self, t: _Token) -> Node:
        """A string; strings that follow each other are one."""
        text = unescaped(t.text[1:-1])
        while (more := self.peek()) is not None and more.kind == "string":
            self.at += 1
            text += unescaped(more.text[1:-1])
        return Text(text)

    def call(self, t: _Token) -> Node:
        """gdb's `$_isvoid(x)` and the like."""
        self.expect("(")
        given = [] if self.accept(")") else [self.expression()]
        while given and not self.accept(")"):
            self.expect(",")
            given.append(self.expression())
        wanted = FUNCTIONS[t.text]
        if len(given) != wanted:
            raise CommandError(f"{t.text} takes {wanted} argument{'s' if wanted > 1 else ''}")
        return Call(t.text, tuple(given))

    def const_bank(self) -> Node:
        """cuda-gdb's `$_cuda_const_bank(bank, offset)`."""
        self.expect("(")
        bank = self.expression()
        self.expect(",")
        offset = self.expression()
        self.expect(")")
        return ConstBank(bank, offset)

    def sizeof(self) -> Node:
        start = self.at
        if not self.accept("("):
            return Unary("sizeof", self.unary())
        certain = self._type_follows(0) or self._keyword()
        type_ = self._type()
        if type_ is None or not self.accept(")"):
            if certain:
                self.expect(")")
            self.at = start
            return Unary("sizeof", self.unary())
        if certain or (isinstance(type_, NamedType) and type_.stars):
            return SizeOf(type_, None)
        end, self.at = self.at, start
        other = Unary("sizeof", self.unary())
        if self.at != end:
            return other
        return SizeOf(type_, other)


def _no_space(t: _Token) -> CommandError:
    return CommandError(
        f"unknown address space '{t.text}' at column {t.column}", "one of " + ", ".join(SPACES)
    )


def shaped(type_: CType, extents: Iterable[int]) -> CType:
    """An array of a type.

    Raises:
        CommandError: an extent that is none.
    """
    for count in reversed(tuple(extents)):
        if not 0 < count <= MAX_EXTENT:
            raise CommandError(f"an array has 1 to {MAX_EXTENT} elements, not {count}")
        type_ = Array(type_, count)
    return type_


def children(node: Node) -> list[Node]:
    """The nodes directly below one."""
    if isinstance(node, Call):
        return list(node.arguments)
    return [c for f in node.__slots__ if isinstance(c := getattr(node, f), NODES)]


def _moved(target: Node, op: str) -> Node:
    """`++x` and `--x`."""
    return Assign(target, Binary(op, target, Number(1, TYPES["int"])))


def walk(node: Node) -> Iterator[Node]:
    """A tree's nodes, without calling itself: trees may be deep."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(children(one))


def names(node: Node) -> list[NameNode]:
    """Every name in a tree."""
    return [one for one in walk(node) if isinstance(one, NameNode)]


def _check_depth(tree: Node) -> None:
    """Refuse trees that could not be evaluated: `1+1+1+…` is as deep as it is long."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > MAX_TREE:
            raise CommandError(
                f"expression: more than {MAX_TREE} operators deep",
                "keep a part of it in a variable: set $part = …",
            )
        level = [c for node in level for c in children(node)]


def _character(t: _Token) -> Number:
    """`'a'`: a char, which is signed."""
    body = t.text[1:-1]
    coded = re.fullmatch(r"\\x([0-9a-fA-F]{1,2})", body)
    made = chr(int(coded[1], 16)) if coded else unescaped(body)
    if len(made) != 1 or ord(made) > 0xFF:
        raise CommandError(f"Invalid character constant. ({t.text[:40]} is not one)")
    return Number(ord(made) - (ord(made) >> 7 << 8), TYPES["char"])


def _integer(t: _Token) -> Number:
    digits = t.text.lstrip("0xXbB") if t.text[:1] == "0" else t.text
    base = _base(t.text)
    if base == 8 and set(digits) & set("89"):
        raise CommandError(f'Invalid number "{_short(t.text)}".', "a leading 0 makes it octal")
    value = 1 << 64 if len(digits) > MAX_DIGITS else int(t.text, base)
    suffix = t.suffix.lower()
    if value >= 1 << 64:
        shown = t.text if len(t.text) <= MAX_DIGITS else f"of {len(t.text)} characters"
        raise CommandError(f"number {shown} at column {t.column} does not fit in 64 bits")
    unsigned = "u" in suffix
    wide = "l" in suffix
    if not wide and not unsigned and value < 1 << 31:
        return Number(value, TYPES["int"])
    if not wide and value < 1 << 32 and (unsigned or t.text.lower().startswith("0x")):
        return Number(value, TYPES["u32"])
    if not unsigned and value < 1 << 63:
        return Number(value, TYPES["long"])
    return Number(value, TYPES["u64"])


def _base(text: str) -> int:
    octal = text[:1] == "0" and text.isdecimal()
    return {"0x": 16, "0b": 2}.get(text[:2].lower(), 8 if octal else 10)


def parse(text: str) -> Node:
    """The syntax tree of an expression.

    Raises:
        CommandError: with the column of what was not understood.
    """
    if not text.strip():
        raise CommandError("an expression is missing")
    parser = _Parser(text)
    node = parser.list()
    rest = parser.peek()
    if rest is not None:
        raise CommandError(f"expression: unexpected {rest.text!r} at column {rest.column}")
    _check_depth(node)
    return node


def parse_type(text: str) -> CType | NamedType | None:
    """`struct Node`, `float4 *`: a type and nothing else; None for anything else."""
    try:
        parser = _Parser(text)
        found = parser._type()
    except CommandError:
        return None
    return found if parser.peek() is None else None


def parse_condition(text: str) -> Node:
    """The syntax tree of a condition, which must not change what it looks at.

    Raises:
        CommandError: as `parse`, or it assigns.
    """
    tree = parse(text)
    if any(isinstance(node, Assign) for node in walk(tree)):
        raise CommandError(f"'=' in a condition would assign: {text.strip()}", "compare with ==")
    return tree
