"""Evaluate expression trees in all 32 lanes at once.

Every result is 32 values with a validity mask: a lane whose load faults has no value, the others
do.  The focused lane's value is `result.values[lane]`; a condition is `result.truth()`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.expr import parser as ast
from gpudbg.expr.halves import is_half, numbers_of, words_of
from gpudbg.expr.types import (
    BOOL,
    F32,
    F64,
    I32,
    NOTHING,
    TYPES,
    U8,
    U32,
    U64,
    VOID,
    Array,
    CType,
    Pointer,
    Scalar,
    Struct,
    base_offset,
    bit_field,
    common,
    promote,
)
from gpudbg.mem.windows import WINDOW_BYTES
from gpudbg.patterns import user_pattern

LANES = 32
MAX_ELEMENTS = 1 << 20
"""Of an array made by `@`."""
Lanes = NDArray[np.bool_]
ALL = np.ones(LANES, bool)
ALL.flags.writeable = False


OPTIMIZED_OUT = "<optimized out>"
"""How the reason begins why a variable has no value: the compiler left none."""
FUNCTION = "function"
"""The kind of place of a function's name; its type is the function's, as text."""
UNTYPED_FUNCTION = "<text variable, no debug info>"
"""gdb's type of a function that it knows by name only."""
SPECIAL = "special"
"""The kind of place of a special register, which is read only."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lives: kind register, pair, predicate, flag, cc, pc, memory or variable.

    From sm_70 on also uniform, uniform predicate and barrier; `apart` is a pair of registers that
    are no neighbours, the high one by its name.  A function's pc and a special register are no
    places that can be written to.

    Attributes:
        known: lanes in which `addresses` could be computed, where what lies there may not be read;
            None: those in which the value could be.
        bits: of a bit-field its lowest bit and width in the number at `addresses`.
    """

    kind: str
    index: int = 0
    name: str = ""
    space: str = ""
    addresses: NDArray[np.uint64] | None = None
    known: Lanes | None = None
    bits: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A value in each lane.

    `values` has shape (32,) in the type's dtype (addresses as u64 for pointers and arrays);
    `valid` tells in which lanes it could be computed; `why` names the first failure.
    """

    type: CType
    values: NDArray[Any]
    valid: Lanes
    place: Place | None = None
    why: str = ""

    def truth(self) -> Lanes:
        """Lanes where the value exists and is not zero."""
        return np.asarray((self.values != 0) & self.valid)

    def bits(self) -> NDArray[np.uint64]:
        """The raw bits of each lane's value, zero-extended to 64."""
        values = self.values
        if values.dtype == np.bool_:
            return values.astype(np.uint64)
        return values.view(f"u{values.dtype.itemsize}").astype(np.uint64)


class Context(Protocol):
    """What an expression can see: one warp of a stopped machine."""

    def register(self, index: int) -> NDArray[np.uint32]:
        """R`index` in 32 lanes; CommandError when the warp has no such register."""

    def predicate(self, index: int) -> Lanes:
        """P0..P6 or PT in 32 lanes."""

    def flag(self, name: str) -> Lanes:
        """Condition-code flag Z S C O in 32 lanes."""

    def variable(self, text: str) -> Result | None:
        """A variable of the program that is in scope; it hides all other names."""

    def name(self, text: str) -> Result | None:
        """Coordinates, special registers, symbols, variables; None when unknown."""

    def is_function(self, name: str) -> bool:
        """Whether the program has a function of this name."""

    def no_variables(self) -> str:
        """Why the program has no variables of functions; empty where it has some."""

    def function_scope(self, name: str) -> Context:
        """The innermost frame of a function; CommandError where it has none."""

    def check_file(self, name: str) -> None:
        """CommandError for a file that the program does not come from."""

    def type(self, name: str) -> CType | None:
        """A type that the program declares, or CUDA has; None when unknown."""

    def suggestions(self, text: str) -> list[str]:
        """Known names near `text`, for error messages."""

    def read(
        self, space: str, addresses: NDArray[np.uint64], size: int
    ) -> tuple[NDArray[np.uint8], Lanes, str]:
        """`size` bytes at each lane's address: array (32, size), valid lanes, why not."""

    def generic(self, space: str, addresses: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Addresses of a space as pointers of the program have them."""

    def read_const(self, bank: int, offset: int, size: int) -> bytes:
        """Constant-bank bytes; CommandError outside the bank."""

    def write_place(self, place: Place, raw: NDArray[np.uint8]) -> None:
        """Write `raw` (32, size) to a place in the lanes the focus selects."""

    def set_variable(self, name: str, value: Result) -> None:
        """Set a convenience variable `$name`."""


_REGISTER = re.compile(r"\$?(?P<kind>[RrFfDdLl])(?P<index>\d{1,3})$")
_PREDICATE = re.compile(r"\$?[Pp](?P<index>[0-6Tt])$")
_FLAG = re.compile(r"\$?[Cc]{2}\.(?P<flag>[ZSCOzsco])$")
_CONDITION_CODE = re.compile(r"\$?[Cc]{2}$")
SPACE_ARRAYS = {"shared", "local", "global", "generic", "__shared__", "__local__", "__global__"}
"""Names that stand for a whole address space: `shared[3]` is its word 3."""


def evaluate(node: ast.Node, context: Context) -> Result:
    """The value of `node` in every lane.

    Raises:
        CommandError: unknown name, wrong operand type, or no lane can be computed.
    """
    with np.errstate(all="ignore"):
        return _value(node, context)


def _value(node: ast.Node, context: Context) -> Result:
    """As `evaluate`, for a part of an expression."""
    return _EVALUATORS[type(node)](node, context)


def assign(target: Result, value: Result, context: Context) -> None:
    """Write `value` to where `target` lives.

    Raises:
        CommandError: the target is not a place.
    """
    if target.place is None or target.place.kind in (FUNCTION, SPECIAL):
        raise CommandError("left side is not a register, predicate or memory")
    if target.place.kind == "variable":
        context.set_variable(target.place.name, value)
        return
    if is_half(target.type) and isinstance(value.type, Scalar):
        words = np.ascontiguousarray(words_of(target.type, value.values))
        context.write_place(target.place, words.view(np.uint8).reshape(LANES, 2))
        return
    if isinstance(target.type, Array | Struct):
        what = "index it" if isinstance(target.type, Array) else "assign its members"
        raise CommandError(f"{target.type} cannot be assigned whole; {what}")
    dtype = _dtype(target.type)
    converted = _convert(value.values, dtype)
    if target.place.bits is not None:
        converted = _with_bits(target.place, converted, context)
    raw = np.ascontiguousarray(converted).view(np.uint8).reshape(LANES, dtype.itemsize)
    context.write_place(target.place, raw)


def uniform(value: Any, type_: CType) -> Result:
    """The same value in all lanes."""
    return Result(type_, np.full(LANES, value, dtype=_dtype(type_)), np.ones(LANES, bool))


def per_lane(values: NDArray[Any], type_: CType, place: Place | None = None) -> Result:
    """A value per lane, all valid."""
    return Result(type_, values, np.ones(LANES, bool), place)


def text_result(text: str) -> Result:
    """A string of the debugger's own: an array of char that lies in no memory."""
    raw = text.encode("utf-8", "surrogateescape")
    place = Place("text", name=text)
    return Result(Array(TYPES["char"], len(raw) + 1), np.zeros(LANES, np.uint64), ALL, place)


def text_of(result: Result) -> str | None:
    """The characters of a string of the debugger's own; None for all else."""
    return result.place.name if result.place is not None and result.place.kind == "text" else None


def decayed(result: Result) -> Result:
    """An array as the pointer to its first element, as C has it; all else as it is."""
    if text_of(result) is not None:
        return result
    if not isinstance(result.type, Array) or result.place is None:
        return result
    type_ = Pointer(result.place.space, result.type.target)
    return Result(type_, result.values, result.valid, why=result.why)


def _dtype(type_: CType) -> np.dtype[Any]:
    return type_.dtype if isinstance(type_, Scalar) else np.dtype(np.uint64)


def _convert(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if values.dtype.kind == "f" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        clean = np.nan_to_num(np.trunc(values.astype(np.float64)))
        return np.array([min(max(int(x), info.min), info.max) for x in clean]).astype(dtype)
    return values.astype(dtype)


def _number(node: ast.Number, context: Context) -> Result:
    return uniform(node.value, node.type)


def _name(node: ast.NameNode, context: Context) -> Result:
    if (local := _local(node.text, context)) is not None:
        return local
    if node.text.startswith("'"):
        # gdb's `'file'::x` and `'function(int)'::x`.
        scope, _, name = node.text[1:].partition("'::")
        return _of_scope(scope, name, node.column, context)
    # `::x` is the one of the file, whatever variable of this name is in scope.
    text = node.text.removeprefix("::")
    if m := _REGISTER.match(text):
        return _register(m["kind"].upper(), int(m["index"]), context)
    if text.lower().lstrip("$") == "rz":
        return uniform(0, U32)
    if m := _PREDICATE.match(text):
        index = 7 if m["index"] in "Tt" else int(m["index"])
        return per_lane(context.predicate(index), BOOL, Place("predicate", index))
    if m := _FLAG.match(text):
        flag = m["flag"].upper()
        return per_lane(context.flag(flag), BOOL, Place("flag", name=flag))
    if _CONDITION_CODE.match(text):
        word = np.zeros(LANES, np.uint32)
        for bit, flag in enumerate("ZSCO"):
            word |= context.flag(flag).astype(np.uint32) << np.uint32(bit)
        return per_lane(word, U32, Place("cc"))
    found = context.name(text) or _member_of_name(text, context)
    scope, _, name = text.rpartition("::")
    if found is None and scope and context.is_function(scope):
        return _of_scope(scope, name, node.column, context)
    if found is None and text in ("true", "false"):
        return uniform(text == "true", BOOL)
    if found is None:
        near = context.suggestions(text)
        hint = "did you mean " + ", ".join(near) + "?" if near else "see `help expressions`"
        if text[:1] not in ("$", "%") and (why := context.no_variables()):
            hint = f"no variable information ({why})"
        raise CommandError(f'No symbol "{text}" in current context.', hint)
    return found


def _of_scope(scope: str, name: str, column: int, context: Context) -> Result:
    """A variable of a file, or of the innermost frame of a function."""
    inner = context.function_scope(scope) if context.is_function(scope) else None
    if inner is None:
        context.check_file(scope)
        return _name(ast.NameNode(f"::{name}", column), context)
    found = _local(name, inner)
    if found is None:
        raise CommandError(f'No symbol "{name}" in function "{scope}".')
    return found


def _local(text: str, context: Context) -> Result | None:
    """`x` or `x.a.b`, where x is a variable in scope."""
    base, _, members = text.partition(".")
    found = context.variable(base) if base[:1] not in ("$", "%", ":", "") else None
    return None if found is None else _members(found, members, context)


def _member_of_name(text: str, context: Context) -> Result | None:
    """`config.scale.x`: a structure's name with members behind it, read as one word."""
    base, dot, members = text.partition(".")
    found = context.name(base) if dot and base[:1] not in "$%" else None
    if found is None or not isinstance(found.type, Struct | Pointer):
        return None
    return _members(found, members, context)


def _members(found: Result, members: str, context: Context) -> Result:
    for name in members.split(".") if members else ():
        found = member(found, name, context)
    return found


def member(base: Result, name: str, context: Context) -> Result:
    """A structure's member; through a pointer or an array, of what it points at.

    Raises:
        CommandError: no structure, or it has no such member.
    """
    base = decayed(base)
    type_, place, addresses = base.type, base.place, base.values
    space = place.space if place is not None else ""
    if isinstance(type_, Pointer):
        space, type_, addresses = type_.space, type_.target, base.values
    if not isinstance(type_, Struct):
        raise CommandError(f"there is no member {name}: {type_} is not a structure")
    field = type_.field(name)
    if field is None:
        have = ", ".join(f.name for f in type_.fields)
        raise CommandError(f"There is no member named {name}.", f"{type_} has {have}")
    # A bool is loaded as whether any bit is set, and a bit-field has neighbours in its byte.
    whole = U8 if field.bits is not None and field.type == TYPES["bool"] else field.type
    found = _load(space, addresses + np.uint64(field.offset), whole, base, context)
    if field.reference:
        return dereferenced(found, context)
    return found if field.bits is None else _bits(found, field.bits, field.type)


def _bits(word: Result, bits: tuple[int, int], type_: CType) -> Result:
    """A bit-field, of a type, of the numbers that it lies in."""
    assert isinstance(type_, Scalar)
    signed = type_.kind == "i"
    values = [bit_field(int(value), bits, signed) for value in word.bits()]
    place = None if word.place is None else replace(word.place, bits=bits)
    return Result(type_, np.array(values, type_.dtype), word.valid, place, word.why)


def _with_bits(place: Place, values: NDArray[Any], context: Context) -> NDArray[Any]:
    """The numbers that a bit-field lies in, with other values of it."""
    assert place.bits is not None
    assert place.addresses is not None
    (shift, width), size = place.bits, values.dtype.itemsize
    raw, _, _ = context.read(place.space, place.addresses, size)
    before = np.ascontiguousarray(raw).view(f"u{size}").reshape(LANES)
    mask = ((1 << width) - 1) << shift
    bits = [int(value) << shift & mask for value in values]
    return np.array(
        [int(old) & ~mask | new for old, new in zip(before, bits, strict=True)], f"u{size}"
    )


def _register(kind: str, index: int, context: Context) -> Result:
    if kind in "RF":
        values = context.register(index)
        return per_lane(
            values.view(np.float32) if kind == "F" else values,
            F32 if kind == "F" else U32,
            Place("register", index),
        )
    low, high = context.register(index), context.register(index + 1)
    pair = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    place = Place("pair", index)
    return (
        per_lane(pair.view(np.float64), F64, place) if kind == "D" else per_lane(pair, U64, place)
    )


def _const_bank(node: ast.ConstBank, context: Context) -> Result:
    if node.name and _is_variable(node.name, context):
        variable = ast.NameNode(node.name, 0)
        return _value(ast.Index(ast.Index(variable, node.bank), node.offset), context)
    bank = _integers(_value(node.bank, context), "a constant bank")
    offset = _integers(_value(node.offset, context), "an offset in a constant bank")
    places = list(zip(bank.values.tolist(), offset.values.tolist(), strict=True))
    valid = bank.valid & offset.valid
    words: dict[tuple[int, int], int] = {}
    errors: dict[tuple[int, int], CommandError] = {}
    for place in dict.fromkeys(p for p, ok in zip(places, valid, strict=True) if ok):
        try:
            words[place] = int.from_bytes(context.read_const(*place, 4), "little")
        except CommandError as error:
            errors[place] = error
    if errors and not words:
        raise next(iter(errors.values()))
    values = np.array([words.get(place, 0) for place in places], np.uint32)
    ok = valid & np.array([place in words for place in places])
    low = offset.values.astype(np.uint64) & np.uint64(0xFFFF_FFFF)
    at = bank.values.astype(np.uint64) << np.uint64(32) | low
    where = Place("memory", space="bank", addresses=at)
    return Result(U32, values, ok, where, why=bank.why or offset.why or _first(errors))


def _is_variable(text: str, context: Context) -> bool:
    """Whether a plain name is one of the program's variables."""
    return context.variable(text) is not None or context.name(text) is not None


def _first(errors: dict[Any, CommandError]) -> str:
    return str(next(iter(errors.values()))) if errors else ""


def _integers(result: Result, what: str) -> Result:
    """`result`, which must be an integer."""
    if not isinstance(result.type, Scalar) or result.type.kind == "f":
        raise CommandError(f"{what} must be an integer, not {result.type}")
    return result


def load_lanes(type_: CType, space: str, addresses: NDArray[np.uint64], context: Context) -> Result:
    """What is at each lane's address."""
    return _load(space, addresses, type_, per_lane(addresses, U64), context)


def dereferenced(pointer: Result, context: Context) -> Result:
    """What a pointer points at."""
    space, target, addresses = _pointer(pointer)
    if target == NOTHING:
        raise CommandError("Attempt to take contents of a non-pointer value.", "cast the pointer")
    return _load(space, addresses, target, pointer, context)


def load(type_: CType, space: str, address: int, context: Context) -> Result:
    """What is at an address of all lanes, read where the type is a number or a pointer."""
    where = uniform(address, U64)
    return _load(space, where.values, type_, where, context)


def _load(
    space: str, addresses: NDArray[np.uint64], type_: CType, source: Result, context: Context
) -> Result:
    """What lies at `addresses`, in the lanes where `source`, what they were made of, is valid."""
    place = Place("memory", space=space, addresses=addresses, known=source.valid)
    valid = source.valid
    if isinstance(type_, Array | Struct):
        return Result(type_, addresses, valid, place, source.why)
    dtype = _dtype(type_)
    size = type_.size
    raw, ok, why = context.read(space, addresses, size)
    if isinstance(type_, Pointer) and size == 4:
        values = np.ascontiguousarray(raw).view(np.uint32).reshape(LANES).astype(np.uint64)
    else:
        values = np.ascontiguousarray(raw).view(dtype).reshape(LANES)
    return Result(type_, values, valid & ok, place, source.why or why)


def _pointer(result: Result) -> tuple[str, CType, NDArray[np.uint64]]:
    if text_of(result) is not None:
        raise CommandError("a string of the debugger's own has no address in the program")
    match decayed(result).type:
        case Pointer(space, target):
            return space, target, result.values
        case Scalar(kind="i" | "u"):
            return "generic", I32, result.values.astype(np.uint64)
    raise CommandError(f"a value of type {result.type} cannot be dereferenced")


def _qualified(space: str, operand: Result) -> Result:
    """`@shared x`: x, which has to lie in that space.

    Raises:
        CommandError: it does not.
    """
    place = operand.place
    there = place.space if place is not None and place.kind == "memory" else ""
    if isinstance(operand.type, Pointer) and there != space:
        type_ = Pointer(space, operand.type.target)
        return Result(type_, operand.values, operand.valid, place, operand.why)
    if not there:
        raise CommandError(f"the value lies in no memory, so not in {space}")
    if there != space and "generic" not in (space, there):
        raise CommandError(f"the value lies in {there} memory, not in {space}")
    return operand


def pointer_to_function(written: str) -> str:
    """`int (*)(float)` of the type `int (float)`."""
    if written == UNTYPED_FUNCTION:
        return f"{written} *"
    # Parameters are the last parentheses: before them stands the result, which may have some, too.
    depth, at = 0, len(written)
    for at in range(len(written) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(written[at], 0)
        if not depth:
            break
    return f"{written[:at]}(*){written[at:]}"


def _unary(node: ast.Unary, context: Context) -> Result:
    operand = _value(node.operand, context)
    if node.op.startswith("@"):
        return _qualified(node.op[1:], operand)
    if node.op == "sizeof":
        if operand.place is not None and operand.place.kind == FUNCTION:
            return uniform(1, U64)
        return uniform(operand.type.size, U64)
    if node.op == "*":
        if operand.place is not None and operand.place.kind == FUNCTION:
            return operand
        if isinstance(operand.type, Pointer) and "(*)" in operand.type.text:
            kind = replace(U64, name=operand.type.text.replace("(*)", "", 1))
            return Result(kind, operand.values, operand.valid, Place(FUNCTION), operand.why)
        return dereferenced(operand, context)
    if node.op == "&":
        place = operand.place
        if place is not None and place.kind == FUNCTION:
            pointer = Pointer("code", operand.type, pointer_to_function(str(operand.type)))
            return Result(pointer, operand.values, operand.valid)
        if place is None or place.kind != "memory" or place.addresses is None or place.bits:
            raise CommandError("only something in memory has an address, and no bit-field")
        # An element that cannot be read has an address all the same.
        valid = operand.valid if place.known is None else place.known
        return Result(Pointer(place.space, operand.type), place.addresses, valid, why=operand.why)
    operand = as_number(operand, context)
    if node.op != "!" and text_of(operand) is not None:
        raise CommandError(f"'{node.op}' does not apply to {operand.type}")
    if node.op == "!":
        return Result(BOOL, operand.values == 0, operand.valid, why=operand.why)
    if not isinstance(operand.type, Scalar):
        raise CommandError(f"'{node.op}' does not apply to {operand.type}")
    type_ = promote(operand.type)
    values = operand.values.astype(type_.dtype)
    if node.op == "~":
        if type_.kind == "f":
            raise CommandError("'~' does not apply to a float")
        return Result(type_, ~values, operand.valid, why=operand.why)
    return Result(type_, -values if node.op == "-" else values, operand.valid, why=operand.why)


def _divide(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    quotient = np.abs(a.astype(object)) // np.where(b == 0, 1, np.abs(b.astype(object)))
    negative = (a < 0) != (b < 0)
    signed: NDArray[Any] = np.where(negative, -quotient, quotient).astype(object)
    return signed


def _integer_result(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    bits = dtype.itemsize * 8
    wrapped = np.array([int(x) & ((1 << bits) - 1) for x in values], dtype=f"u{dtype.itemsize}")
    return wrapped.view(dtype)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _binary(node: ast.Binary, context: Context) -> Result:
    left = _value(node.left, context)
    right = _value(node.right, context)
    if node.op == ",":
        return right
    if node.op == "@":
        return _repeated(left, right)
    if text_of(left) is not None or text_of(right) is not None:
        return _text_binary(node.op, left, right)
    left, right = as_number(left, context), as_number(right, context)
    if node.op in ("&&", "||"):
        return _logical(node.op, left, right)
    for side in (left, right):
        _no_structure(node.op, side)
    valid = left.valid & right.valid
    why = left.why or right.why
    if isinstance(left.type, Pointer | Array) or isinstance(right.type, Pointer | Array):
        left, right = _in_one_space(left, right, context)
        return _pointer_arithmetic(node.op, left, right, valid)
    assert isinstance(left.type, Scalar)
    assert isinstance(right.type, Scalar)
    if node.op in ("<<", ">>"):
        return _shift(node.op, left, right, valid)
    type_ = common(left.type, right.type)
    a, b = left.values.astype(type_.dtype), right.values.astype(type_.dtype)
    if node.op in _COMPARE:
        return Result(BOOL, _COMPARE[node.op](a, b), valid, why=why)
    if node.op in ("/", "%"):
        if type_.kind != "f":
            valid = valid & (b != 0)
            why = why or ("division by zero" if not (b != 0).all() else "")
            quotient = _divide(a, b)
            values = quotient if node.op == "/" else a.astype(object) - quotient * b.astype(object)
            return Result(type_, _integer_result(values, type_.dtype), valid, why=why)
        return Result(type_, a / b if node.op == "/" else np.fmod(a, b), valid, why=why)
    if type_.kind == "f" and node.op in "&|^":
        raise CommandError(f"'{node.op}' does not apply to floats")
    return Result(type_, _ARITHMETIC[node.op](a, b), valid, why=why)


def _text_binary(op: str, left: Result, right: Result) -> Result:
    if op not in ("==", "!=") or text_of(left) is None or text_of(right) is None:
        raise CommandError(f"'{op}' does not apply to {left.type} and {right.type}")
    return uniform((text_of(left) == text_of(right)) == (op == "=="), BOOL)


def _text(node: ast.Text, context: Context) -> Result:
    return text_result(node.text)


def _call(node: ast.Call, context: Context) -> Result:
    given = [_value(one, context) for one in node.arguments]
    if node.name == "$_isvoid":
        return uniform(int(given[0].type == VOID), I32)
    texts = [read_text(one, context) for one in given]
    if node.name == "$_strlen":
        return uniform(len(texts[0].encode("utf-8", "surrogateescape")), I32)
    if node.name == "$_streq":
        return uniform(int(texts[0] == texts[1]), I32)
    return uniform(int(user_pattern(texts[1]).match(texts[0]) is not None), I32)


MAX_STRING = 4096


def read_text(result: Result, context: Context) -> str:
    """The characters of a string, in memory up to its zero as the first valid lane sees it.

    Raises:
        CommandError: it is no string, or cannot be read.
    """
    own = text_of(result)
    if own is not None:
        return own
    if not isinstance(result.type, Pointer | Array):
        raise CommandError(f"{result.type} is no string")
    space, _, addresses = _pointer(result)
    raw = bytearray()
    while len(raw) < MAX_STRING:
        got, ok, why = context.read(space, addresses + np.uint64(len(raw)), 1)
        if not ok.any():
            raise CommandError(why or "no lane can read the string")
        byte = int(got[int(np.argmax(ok)), 0])
        if not byte:
            break
        raw.append(byte)
    return raw.decode("utf-8", "replace")


def _repeated(first: Result, count: Result) -> Result:
    """`first @ count`: an array in memory that begins at `first`."""
    if first.why.startswith(OPTIMIZED_OUT):
        return first
    place = first.place
    if place is None or place.kind != "memory" or place.addresses is None:
        raise CommandError("only something in memory can be extended with '@'")
    whole = isinstance(count.type, Scalar) and count.values.dtype.kind != "f"
    elements = int(count.values[0]) if whole else 0
    if not 1 <= elements <= MAX_ELEMENTS:
        raise CommandError(f"'@' takes a number of elements from 1 to {MAX_ELEMENTS}")
    return Result(Array(first.type, elements), place.addresses, first.valid, place, first.why)


def _logical(op: str, left: Result, right: Result) -> Result:
    a, b = left.values != 0, right.values != 0
    asked = a if op == "&&" else ~a
    valid = left.valid & (~asked | right.valid)
    why = left.why or _why_in(right, asked)
    return Result(BOOL, a & b if op == "&&" else a | b, valid, why=why)


def _shift(op: str, left: Result, right: Result, valid: Lanes) -> Result:
    assert isinstance(left.type, Scalar)
    type_ = promote(left.type)
    if type_.kind == "f" or right.values.dtype.kind == "f":
        raise CommandError(f"'{op}' does not apply to floats")
    bits = type_.size * 8
    negative = right.values < 0
    count = np.minimum(np.where(negative, 0, right.values).astype(np.uint64), np.uint64(bits))
    a = left.values.astype(type_.dtype)
    over = count >= bits
    capped = np.minimum(count, bits - 1).astype(type_.dtype)
    if op == "<<":
        values = np.where(over, 0, a << capped).astype(type_.dtype)
    else:
        sign = np.where(a < 0, -1, 0) if type_.kind == "i" else np.zeros(LANES, int)
        values = np.where(over, sign.astype(type_.dtype), a >> capped)
    why = left.why or right.why or ("a shift by a negative count" if negative.any() else "")
    return Result(type_, values, valid & ~negative, why=why)


def _in_one_space(left: Result, right: Result, context: Context) -> tuple[Result, Result]:
    """Two pointers or arrays; those of different spaces as generic ones."""
    sides = [decayed(side) for side in (left, right)]
    spaces = [side.type.space for side in sides if isinstance(side.type, Pointer)]
    if len(spaces) != 2 or spaces[0] == spaces[1]:
        return left, right
    return _generic(sides[0], context), _generic(sides[1], context)


def _generic(pointer: Result, context: Context) -> Result:
    """A pointer as the program's own are."""
    assert isinstance(pointer.type, Pointer)
    values = context.generic(pointer.type.space, pointer.values.astype(np.uint64))
    type_ = Pointer("generic", pointer.type.target)
    return Result(type_, values, pointer.valid, why=pointer.why)


def _in_space(operand: Result, space: str, context: Context) -> Result:
    """A pointer or array as a pointer of a space: its address there; numbers as they are."""
    pointer = decayed(operand)
    if not isinstance(pointer.type, Pointer) or pointer.type.space == space:
        return operand
    whole = _generic(pointer, context)
    assert isinstance(whole.type, Pointer)
    base = context.generic(space, np.zeros(LANES, np.uint64))
    # Addresses that lie elsewhere stay what they are.
    inside = (base != 0) & (whole.values >= base) & (whole.values - base < WINDOW_BYTES)
    values = np.where(inside, whole.values - base, whole.values)
    return Result(Pointer(space, whole.type.target), values, pointer.valid, why=pointer.why)


def _pointer_arithmetic(op: str, left: Result, right: Result, valid: Lanes) -> Result:
    why = left.why or right.why
    if op in _COMPARE:
        a, b = left.values.astype(np.uint64), right.values.astype(np.uint64)
        return Result(BOOL, _COMPARE[op](a, b), valid, why=why)
    if op == "+" and isinstance(left.type, Scalar):
        left, right = right, left
    space, target, base = _pointer(left)
    size = max(target.size, 1)
    if op == "-" and isinstance(right.type, Pointer | Array):
        distance = (base.astype(np.int64) - right.values.astype(np.int64)) // size
        return Result(Scalar("long", "i", 8), distance, valid, why=why)
    if op not in ("+", "-") or not isinstance(right.type, Scalar) or right.type.kind == "f":
        raise CommandError(f"'{op}' does not apply to {left.type} and {right.type}")
    step = right.values.astype(np.int64) * _signed(size)
    moved = base.astype(np.int64) + (step if op == "+" else -step)
    return Result(Pointer(space, target), moved.astype(np.uint64), valid, why=why)


def _signed(size: int) -> np.int64:
    """A size as the factor of 64-bit address arithmetic, which wraps."""
    return np.uint64(size & (1 << 64) - 1).astype(np.int64)


def _conditional(node: ast.Conditional, context: Context) -> Result:
    condition = _value(node.condition, context)
    yes, no = decayed(_value(node.yes, context)), decayed(_value(node.no, context))
    take = condition.values != 0
    type_: CType = yes.type
    if isinstance(yes.type, Scalar) and isinstance(no.type, Scalar):
        type_ = common(yes.type, no.type)
    elif not isinstance(yes.type, Pointer):
        type_ = no.type
    dtype = _dtype(type_)
    values = np.where(take, _convert(yes.values, dtype), _convert(no.values, dtype))
    valid = condition.valid & np.where(take, yes.valid, no.valid)
    # What a branch says of lanes that do not take it is no reason.
    why = condition.why or _why_in(yes, take) or _why_in(no, ~take)
    return Result(type_, values, valid, why=why)


def _why_in(result: Result, lanes: Lanes) -> str:
    return result.why if (lanes & ~result.valid).any() else ""


def as_number(operand: Result, context: Context) -> Result:
    """A `__half` or `__nv_bfloat16` as the number that it is; all else as it is."""
    place = operand.place
    if not is_half(operand.type) or place is None or place.addresses is None:
        return operand
    raw, ok, why = context.read(place.space, place.addresses, 2)
    words = np.ascontiguousarray(raw).view(np.uint16).reshape(LANES)
    return Result(F32, numbers_of(operand.type, words), operand.valid & ok, why=operand.why or why)


def _no_structure(op: str, operand: Result) -> None:
    if isinstance(operand.type, Struct):
        raise CommandError(f"'{op}' does not apply to structure {operand.type}", "name a member")


def _cast(node: ast.Cast, context: Context) -> Result:
    type_ = _type(node.type, context)
    operand = _value(node.operand, context)
    why = operand.why
    if isinstance(type_, Struct | Array):
        found = _as_base(operand, type_)
        if found is None:
            raise CommandError(f"cannot convert {operand.type} to {type_}")
        return found
    operand = as_number(operand, context)
    _no_structure("cast", operand)
    if isinstance(type_, Pointer):
        if operand.values.dtype.kind == "f":
            raise CommandError(f"cannot convert {operand.type} to {type_}")
        operand = _in_space(operand, type_.space, context)
        moved = operand.values.astype(np.uint64) + np.uint64(_moved(operand.type, type_))
        return Result(type_, moved, operand.valid, why=why)
    values = _convert(operand.values, _dtype(type_))
    return Result(type_, values, operand.valid, why=why)


def _as_base(operand: Result, type_: Struct | Array) -> Result | None:
    """A structure as itself or as one of its base classes; None where it is neither."""
    if operand.type == type_:
        return operand
    offset = base_offset(operand.type, type_)
    if offset is None or operand.place is None:
        return None
    addresses = operand.values.astype(np.uint64) + np.uint64(offset)
    place = replace(operand.place, addresses=addresses)
    return Result(type_, addresses, operand.valid, place, operand.why)


def _moved(given: CType, wanted: Pointer) -> int:
    """Bytes that a pointer moves by when it is cast to one to a base class, or to a derived one.

    Of 64 bits: one to a derived class moves back.
    """
    if not isinstance(given, Pointer):
        return 0
    offset = base_offset(given.target, wanted.target)
    if offset is None:
        offset = -(base_offset(wanted.target, given.target) or 0)
    return offset & (1 << 64) - 1


def _type(type_: CType | ast.NamedType, context: Context) -> CType:
    """The type that an expression writes.

    Raises:
        CommandError: the program has none of that name.
    """
    if not isinstance(type_, ast.NamedType):
        return type_
    base = context.type(type_.name)
    if base is None:
        raise CommandError(f"No type named {type_.name}.", "see `help expressions`")
    return type_.of(base)


def _size_of(node: ast.SizeOf, context: Context) -> Result:
    name = node.type.name if isinstance(node.type, ast.NamedType) else ""
    if node.other is not None and (not name or context.type(name) is None):
        return _value(node.other, context)
    return uniform(_type(node.type, context).size, U64)


def _index(node: ast.Index, context: Context) -> Result:
    index = _value(node.index, context)
    if isinstance(node.base, ast.NameNode) and node.base.text in SPACE_ARRAYS:
        space = node.base.text.strip("_")
        # shared[i] is the i-th 32-bit word, as a kernel author counts an int array.
        return _element(space, np.zeros(LANES, np.uint64), U32, index, context)
    base = _value(node.base, context)
    own = text_of(base)
    if own is not None:
        return _character(own, index)
    if isinstance(base.type, Scalar) and isinstance(index.type, Pointer | Array):
        base, index = index, base
    space, target, addresses = _variable(node.base, base) or _pointer(base)
    joined = Result(index.type, index.values, base.valid & index.valid, why=base.why or index.why)
    return _element(space, addresses, target, joined, context)


def _character(text: str, index: Result) -> Result:
    raw = np.frombuffer(text.encode("utf-8", "surrogateescape") + b"\0", np.int8)
    at = _integers(index, "an index").values.astype(np.int64)
    inside = (at >= 0) & (at < len(raw))
    values = raw[np.where(inside, at, 0)]
    return Result(TYPES["char"], values, index.valid & inside, why=index.why or "out of the string")


def _element(
    space: str, base: NDArray[np.uint64], target: CType, index: Result, context: Context
) -> Result:
    """Element `index` of what begins at `base`."""
    step = _integers(index, "an index").values.astype(np.int64) * _signed(target.size)
    moved = (base.astype(np.int64) + step).astype(np.uint64)
    return _load(space, moved, target, index, context)


def _variable(node: ast.Node, result: Result) -> tuple[str, CType, NDArray[np.uint64]] | None:
    """A variable's own place: with only its size known, a number may be an array's one element."""
    place = result.place
    if not isinstance(node, ast.NameNode) or not isinstance(result.type, Scalar) or place is None:
        return None
    if place.kind != "memory" or place.addresses is None:
        return None
    return place.space, result.type, place.addresses


def _member_node(node: ast.MemberNode, context: Context) -> Result:
    return member(_value(node.base, context), node.name, context)


def _is_new(text: str, context: Context) -> bool:
    """Whether a `$name` means nothing yet."""
    return text.startswith("$") and not is_register(text) and not context.name(text)


def is_register(text: str) -> bool:
    """Whether a name is a register's, a predicate's or the condition code's."""
    known = (_REGISTER, _PREDICATE, _FLAG, _CONDITION_CODE)
    return any(k.match(text) for k in known) or text.lower().lstrip("$") == "rz"


def _assign(node: ast.Assign, context: Context) -> Result:
    value = _value(node.value, context)
    if isinstance(node.target, ast.NameNode) and _is_new(node.target.text, context):
        context.set_variable(node.target.text, value)
        return value
    target = _value(node.target, context)
    if isinstance(node.target, ast.NameNode) and target.place is not None:
        if target.place.kind in ("variable", "text"):
            context.set_variable(node.target.text, value)
            return value
    assign(target, value, context)
    return _value(node.target, context)


_EVALUATORS: dict[type, Callable[[Any, Context], Result]] = {
    ast.Number: _number,
    ast.NameNode: _name,
    ast.ConstBank: _const_bank,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Conditional: _conditional,
    ast.Cast: _cast,
    ast.SizeOf: _size_of,
    ast.Index: _index,
    ast.MemberNode: _member_node,
    ast.Text: _text,
    ast.Call: _call,
    ast.Assign: _assign,
}
