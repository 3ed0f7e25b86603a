"""How wide an instruction is, `isa/` and `code_layout` know; the divergence stack, its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house import sources
from tests.house.sources import Source, parsed

KNOW_WIDTHS = ("isa/", "code_layout.py")
WIDTHS = {8, 16, 24, 32}
"""Bytes of words and bundles."""
MASKS = {width - 1 for width in WIDTHS} | {-width for width in WIDTHS}
CODE = ("pc", "word_at", "target", "instruction", "insn", "entry", "goal")
"""What names of places in code are made of."""

STACK_FIELDS = {"DEPTH", "STACK", "PILE"}
KNOW_STACKS = ("sm/divergence/", "sm/convergence/", "sm/record.py", "sm/state.py", "sm/residency/")


def is_code(node: ast.expr) -> bool:
    """Whether an expression is called as a place in code is, or is the size of code."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len":
        return bool(node.args) and getattr(node.args[0], "attr", "") == "code"
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = str(node.slice.value)
    return any(part in CODE for part in (name, *name.lower().split("_")))


def width_arithmetic(source: Source) -> Iterator[str]:
    """Remainders and masks of places in code by the size of a word or a bundle."""
    for node in source.nodes:
        if not isinstance(node, ast.BinOp) or not is_code(node.left):
            continue
        try:
            number = ast.literal_eval(node.right)
        except ValueError:
            continue
        # Both engines keep a byte for each 8 bytes of code, whatever stands there.
        wanted = WIDTHS - {8} if isinstance(node.left, ast.Call) else WIDTHS
        whole = isinstance(node.op, ast.Mod | ast.FloorDiv) and number in wanted
        if whole or (isinstance(node.op, ast.BitAnd) and number in MASKS):
            yield ast.unparse(node)


def stack_fields(source: Source) -> Iterator[str]:
    """Imports and reads of the fields of a warp's record that hold its divergence stack."""
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in STACK_FIELDS:
            if isinstance(node.value, ast.Name) and node.value.id in ("rec", "record"):
                yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").endswith("sm.record"):
            yield from (a.name for a in node.names if a.name in STACK_FIELDS)


WIDTH_ARITHMETIC = sources.collected(width_arithmetic)
STACK_READS = sources.collected(stack_fields)


def outside(allowed: tuple[str, ...], found: dict[str, list[str]]) -> dict[str, list[str]]:
    """What was found in modules of gpudbg that may not do it."""
    names = {name: name.removeprefix("gpudbg/") for name in found if name.startswith("gpudbg/")}
    return {name: found[name] for name, inner in names.items() if not inner.startswith(allowed)}


def test_only_the_instruction_sets_know_how_wide_an_instruction_is() -> None:
    assert outside(KNOW_WIDTHS, WIDTH_ARITHMETIC()) == {}


@pytest.mark.parametrize(
    "text",
    [
        "x = pc & 31",
        "if warp.next_pc % 32 == 0: ...",
        "n = f.warp['pc'] & -32",
        "len(k.code) // 32",
    ],
)
def test_planted_arithmetic_is_found(text: str) -> None:
    assert list(width_arithmetic(parsed("planted.py", text)))


def test_only_the_convergence_folders_read_the_divergence_stack() -> None:
    assert outside(KNOW_STACKS, STACK_READS()) == {}


def test_a_planted_read_of_the_stack_is_found() -> None:
    assert list(stack_fields(parsed("planted.py", "depth = warp.words[rec.DEPTH]"))) == [
        "rec.DEPTH"
    ]
    assert list(stack_fields(parsed("planted.py", "from gpudbg.sm.record import DEPTH, PC"))) == [
        "DEPTH"
    ]
