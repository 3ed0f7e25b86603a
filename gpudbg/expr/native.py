"""Conditions as operations of the machine interface, so that compiled code tests them itself.

Taken are comparisons, logic and arithmetic of 32-bit integers, registers, predicates, variables
that lie in registers, `threadIdx`, `blockIdx`, sizes of the launch and constants; floats are
compared.  What can fail, reads memory or needs other types is left to `evaluate`.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Any, Final

from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import Context, evaluate
from gpudbg.expr.parser import Binary, NameNode, Node, Number, Unary
from gpudbg.expr.types import BOOL, F32, F64, I32, U32, Scalar, common, promote
from gpudbg.sm.conditions import Condition
from gpudbg.sm.semantics.machine import M, Operations, V, W

Tree = tuple[Any, ...]
"""An operation's name and its operands."""

COORDINATES: Final = {
    f"{name}.{axis}": first + n
    for name, first in (("threadIdx", 33), ("blockIdx", 37))
    for n, axis in enumerate("xyz")
}
"""Names of coordinates -> special registers."""
FIXED: Final = ("blockDim.", "gridDim.")
_ARITHMETIC: Final = {"+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor"}
_COMPARED: Final = ("==", "!=", "<", "<=", ">", ">=")


class _OtherError(Exception):
    """Something that is left to `evaluate`."""


def native(node: Node, context: Context) -> Condition | None:
    """A condition as operations; None where `evaluate` has to be asked.

    Args:
        context: a warp at the place where the condition is to be tested.
    """
    try:
        tree = _truth(*_translated(node, context))
    except (_OtherError, CommandError):
        return None
    return Condition(tree, partial(_emitted, tree=tree))


def _translated(node: Node, context: Context) -> tuple[Tree, Scalar]:
    if isinstance(node, Number):
        return ("number", node.value), node.type
    if isinstance(node, NameNode):
        return _name(node, context)
    if isinstance(node, Unary):
        return _unary(node, context)
    if isinstance(node, Binary):
        return _binary(node, context)
    raise _OtherError


def _name(node: NameNode, context: Context) -> tuple[Tree, Scalar]:
    if node.text in COORDINATES:
        return ("sreg", COORDINATES[node.text]), U32
    found = evaluate(node, context)
    if not isinstance(found.type, Scalar) or not found.valid.all():
        raise _OtherError
    place = found.place
    if place is not None and place.kind == "register" and found.type in (U32, I32, F32):
        return ("reg", place.index), found.type
    if place is not None and place.kind == "predicate":
        return ("pred", place.index), BOOL
    if node.text.startswith(FIXED) and found.type in (U32, I32):
        return ("number", int(found.values[0])), found.type
    raise _OtherError


def _unary(node: Unary, context: Context) -> tuple[Tree, Scalar]:
    tree, type_ = _translated(node.operand, context)
    if node.op == "!":
        return ("mnot", _truth(tree, type_)), BOOL
    if node.op == "-" and tree[0] == "number" and type_ in (I32, F32, F64):
        return ("number", -tree[1]), type_
    raise _OtherError


def _binary(node: Binary, context: Context) -> tuple[Tree, Scalar]:
    left, right = _translated(node.left, context), _translated(node.right, context)
    if node.op in ("&&", "||"):
        joined = "mand" if node.op == "&&" else "mor"
        return (joined, _truth(*left), _truth(*right)), BOOL
    type_ = common(left[1], right[1])
    if node.op in _COMPARED:
        if type_.kind == "f":
            a, b = (_float(tree, kind, type_) for tree, kind in (left, right))
            less, equal = ("flt", "feq") if type_ == F32 else ("dlt", "deq")
            return _order(node.op, a, b, less, equal), BOOL
        a, b = (_integer(tree, kind, type_) for tree, kind in (left, right))
        return _order(node.op, a, b, "slt" if type_ == I32 else "ult", "eq"), BOOL
    if node.op in _ARITHMETIC and type_.kind != "f":
        a, b = (_integer(tree, kind, type_) for tree, kind in (left, right))
        return (_ARITHMETIC[node.op], a, b), type_
    raise _OtherError


def _integer(tree: Tree, given: Scalar, type_: Scalar) -> Tree:
    """An operand as the 32-bit integer that its operation takes."""
    if type_ not in (I32, U32) or promote(given).size > 4:
        raise _OtherError
    if tree[0] == "number":
        return ("number", int(tree[1]) & 0xFFFFFFFF)
    return ("select", tree, ("number", 1), ("number", 0)) if given == BOOL else tree


def _float(tree: Tree, given: Scalar, type_: Scalar) -> Tree:
    """An operand as the float that its comparison takes."""
    if tree[0] == "number":
        form, size = ("<f", "<I") if type_ == F32 else ("<d", "<Q")
        try:
            return ("number", struct.unpack(size, struct.pack(form, tree[1]))[0])
        except OverflowError:
            raise _OtherError from None
    if given != F32:
        raise _OtherError
    return tree if type_ == F32 else ("f32_to_f64", tree)


def _order(op: str, a: Tree, b: Tree, less: str, equal: str) -> Tree:
    """A comparison from less-than and equal; with NaN only `!=` holds."""
    if op in ("==", "!="):
        return (equal, a, b) if op == "==" else ("mnot", (equal, a, b))
    if op[0] == ">":
        a, b = b, a
    strict = (less, a, b)
    return strict if len(op) == 1 else ("mor", strict, (equal, a, b))


def _truth(tree: Tree, type_: Scalar) -> Tree:
    """Where a value is not zero."""
    if type_ == BOOL:
        return tree
    if type_ in (I32, U32):
        return ("mnot", ("eq", _integer(tree, type_, type_), ("number", 0)))
    if type_ == F32:
        return ("mnot", ("feq", _float(tree, type_, type_), ("number", 0)))
    raise _OtherError


def _emitted(m: Operations[Any, Any, Any], tree: Tree) -> Any:
    """The value or mask of a tree."""
    what, *operands = tree
    if what == "number":
        return operands[0]
    given: list[Any] = [_emitted(m, o) if isinstance(o, tuple) else o for o in operands]
    return getattr(m, what)(*given)


def holds_in(conditions: list[Condition]) -> Condition:
    """Where any of some conditions holds."""
    if len(conditions) == 1:
        return conditions[0]

    def either(m: Operations[V, W, M]) -> M:
        lanes = conditions[0].holds(m)
        for more in conditions[1:]:
            lanes = m.mor(lanes, more.holds(m))
        return lanes

    return Condition(tuple(c.key for c in conditions), either)
