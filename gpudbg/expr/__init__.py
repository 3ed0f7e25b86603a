"""Expressions over the machine's state: parse once, evaluate in all 32 lanes at a time."""

from gpudbg.expr.evaluation import Context, Result, assign, evaluate
from gpudbg.expr.parser import Node, parse, parse_condition
from gpudbg.expr.types import TYPES, Array, Pointer, Scalar, Struct

__all__ = [
    "TYPES",
    "Array",
    "Context",
    "Node",
    "Pointer",
    "Result",
    "Scalar",
    "Struct",
    "assign",
    "evaluate",
    "parse",
    "parse_condition",
]
