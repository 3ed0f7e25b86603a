"""Expressions over the machine's state: parse once, evaluate in all 32 lanes at a time."""

from gpudbg.expr.evaluation import OPTIMIZED_OUT, Context, Result, assign, evaluate
from gpudbg.expr.parser import Node, names, parse, parse_condition
from gpudbg.expr.types import TYPES, Array, Pointer, Scalar, Struct, spelled

__all__ = [
    "OPTIMIZED_OUT",
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
    "names",
    "parse",
    "parse_condition",
    "spelled",
]
