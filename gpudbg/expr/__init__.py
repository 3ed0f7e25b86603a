"""Expressions over the machine's state: parse once, evaluate in all 32 lanes at a time."""

from gpudbg.expr.evaluate import Context, Result, assign, evaluate
from gpudbg.expr.parse import Node, parse, parse_condition

__all__ = ["Context", "Node", "Result", "assign", "evaluate", "parse", "parse_condition"]
