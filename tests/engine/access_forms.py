"""Every form of access to memory that code generation emits, and which of them have hostile cases.

    python -m tests.engine.access_forms --write    lists them anew in `access_forms.txt`

A form is the function that emits an instruction, the instruction with its type, and the space it
is for.  It is noted where the text is made, so that nobody has to remember to add one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir import builder
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from tests.engine import hostile, hostile_affine, hostile_rows

LISTED = Path(__file__).with_suffix(".txt")
FOLDER = Path(layout.__file__).parent
SHARED = FOLDER.parents[1]
COMPILED = [SHARED / name / "compiled.py" for name in (
    "atomics", "barriers", "convergence", "divergence", "residency", "schedule",
)]  # fmt: skip
"""Compiled implementations beside the step engine's."""
_ACCESS = re.compile(
    r"^(?:%[\w.]+ = )?(?:(load|store)(?: atomic)? (<[^>]*>|\w+)|(atomicrmw \w+|cmpxchg)"
    r"|(?:tail )?call .*?@llvm\.(masked\.\w+\.\w+|x86\.avx2\.gather\.[\w.]+))"
)
_EMITS = re.compile(r"\b(load|store|atomicrmw|cmpxchg) |masked\.|avx2\.gather\.")

FIXED = {
    "registers": "registers, predicates and flags at fixed places of the record",
    "exits": "the same, and counts there",
    "merges": "the same, and marks of the program's own blocks",
    "loops": "the same",
    "pieces": "the same",
    "edges": "the head of the record",
    "emitter": "the head of the record",
    "group_flow": "the head of the record, barriers by numbers below 16",
    "convergence.compiled": "the same",
    "uniform": "uniform registers and predicates at fixed places of the record",
    "directed": "rows that are passed, the mode of the host's vectors",
    "tensor": "the same",
    "tensor_integers": "the same",
    "tensors": "scratch rows",
    "sparse": "rows that are passed, scratch rows",
    "ranked": "rows that are passed, descriptors of CTAs; memory by the functions with cases",
    "screening": "what is kept of memory whose access is good, rows that code has written",
    "screening_lanes": "the same",
    "screening_near": "the same",
    "copies": "what `resolve` found and a block's shared memory, once all of a copy is inside",
    "flow": "the head of the record, the divergence stack below its capacity",
    "flow_parts": "the head of the record",
    "carried": "rows and the head of the record",
    "seldom": "the head and rows of the record",
    "lane_facts": "rows of the record",
    "final_state": "the same",
    "succession": "heads of the record and of the next one in the ring, fields of the environment",
    "special": "the head of the record, fields of the environment",
    "divergence.compiled": "the divergence stack below its depth or capacity",
    "cluster_rank": "the descriptor of a CTA",
    "barriers.compiled": "the descriptor of a CTA, by a number below 16",
    "residency.compiled": "what `arena` and `worker` lay out",
    "schedule.compiled": "the same",
    "control": "what all these emit with",
    "work_stealing": "boxes of host threads",
    "trace_rows": "rows that a block has taken",
    "crash": "the context of a signal, words of the handler",
    "sink": "moves statements of others",
    "builder": "what all others emit with",
    "typed": "the same",
}
"""Modules whose pointers do not depend on what a program computes -> what they point to."""
PYTHON = frozenset("build layout listing patterns program run start threads worker workers".split())
"""Modules that emit nothing."""
FIXED_FUNCTIONS = {
    "RuntimeCalls.function": "the table of library functions",
    "RuntimeCalls.row_of": "scratch rows",
    "RuntimeCalls.outlined": "scratch rows",
    "RuntimeCalls.words": "scratch rows",
    "Constants.bank": "the table of constant banks",
    "Sites.entry": "the table of sites",
    "WatchTests.entry": "the head of the record, the table of watched ranges",
    "_numbers": "the table of watched ranges",
    "LibraryAccess._into_shared": "the environment",
    "SharedSums._sure": "the environment",
    "LibraryAccess.atomic": "scratch rows",
    "Shuffles.lane_read": "scratch rows",
    "Body.row": "a row that is passed",
    "_Rows._put": "rows that are passed",
    "outlined_functions": "rows that are passed",
    "MufuBodies._table": "256 entries, by 8 bits",
    "Screen._uniform": "a row of accesses that code has written",
    "_shuffle": "a row, by 5 bits",
    "_resolve": "the table of allocations, by halves; a site",
}
"""The same in other modules."""

SPACES = frozenset(("global", "shared", "local", "const"))
LATER = ("F16x2", "ARRIVE.U64", "MBARRIER.U64", "MBARRIER_DROP.U64")
"""Ends of the names of functions that only later sets need."""

Row = tuple[str, str, str]


class Notes:
    """Forms noted so far.

    Attributes:
        rows: (function, instruction, space).
    """

    def __init__(self) -> None:
        self.rows: set[Row] = set()

    def note(self, line: str) -> None:
        """A line that is emitted by the caller's caller."""
        found = _ACCESS.match(line)
        if found is None:
            return
        what = f"{found[1]} {found[2]}" if found[1] else found[3] or found[4]
        emitter, space = _origin(sys._getframe(2))
        if emitter and emitter not in FIXED_FUNCTIONS:
            self.rows.add((emitter, what, space))


def _origin(frame: FrameType | None) -> tuple[str, str]:
    """(The function that emits, "" in a module of `FIXED`; the space it does so for)."""
    emitter, space = "", ""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if FOLDER not in path.parents and path not in COMPILED:
            break
        if path.stem not in ("builder", "typed") and not emitter:
            if _module(path) in FIXED:
                return "", ""
            emitter = re.sub(r"\.<\w+>", "", frame.f_code.co_qualname)
        space = space or str(frame.f_locals.get("space", ""))
        frame = frame.f_back
    return emitter, space


def _module(path: Path) -> str:
    """The name of a module in the tables."""
    return f"{path.parent.name}.compiled" if path.stem == "compiled" else path.stem


@contextmanager
def noting() -> Iterator[Notes]:
    """Note what is emitted meanwhile."""
    notes = Notes()
    kept: Any = builder.Builder.op, builder.Builder.line

    def op(self: builder.Builder, line: str) -> str:
        notes.note(line)
        return str(kept[0](self, line))

    def line(self: builder.Builder, what: str) -> None:
        notes.note(what)
        kept[1](self, what)

    own: Any = builder.Builder
    own.op, own.line = op, line
    try:
        yield notes
    finally:
        builder.Builder.op, builder.Builder.line = kept  # type: ignore[method-assign]


def with_cases() -> tuple[set[Row], set[str]]:
    """(Forms in the code of the hostile cases and of the library; functions of it called)."""
    calls: set[str] = set()
    with noting() as notes:
        for number in range(hostile.BATCHES):
            batch = hostile.Batch(1000 + number, wanted=hostile.wanted_of(number))
            for full in (True, False):
                for masks in MaskHost:
                    batch.emitter(full, masks).text("warp")
            calls |= {name for name in batch.calls if is_access(name)}
        for host in (*map(AccessHost, MaskHost), AccessHost(MaskHost.PACKED, True)):
            hostile.access_library(host)
        hostile_rows.texts()
        hostile_affine.texts()
    return notes.rows, calls


def is_access(name: str) -> bool:
    """Whether a function of the library accesses a program's memory."""
    return name.partition(".")[0] in ("load", "store", "atomic", "sum", "mark")


def emitting_functions() -> set[str]:
    """Functions of the package with text or calls that make accesses, by their source."""
    found = set()
    for path in (*FOLDER.rglob("*.py"), *COMPILED):
        if _module(path) not in FIXED and path.stem not in PYTHON:
            found |= set(_emitting(ast.parse(path.read_text()), ""))
    return found - set(FIXED_FUNCTIONS)


def _emitting(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            name = f"{prefix}{child.name}"
            if isinstance(child, ast.FunctionDef) and _emits(child):
                yield name
            yield from _emitting(child, f"{name}.")


def _emits(function: ast.FunctionDef) -> bool:
    """Whether a function itself, not one inside it, emits."""
    work: list[ast.AST] = list(function.body[ast.get_docstring(function) is not None :])
    while work:
        node = work.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = node.func.value
            # `ir.get` or `self.ir.get`, not that of a dictionary.
            name = given.attr if isinstance(given, ast.Attribute) else getattr(given, "id", "")
            mine = node.func.attr in ("get", "put") and name in ("ir", "f", "self")
            if mine and len(node.args) > 1:
                return True
        if isinstance(node, ast.JoinedStr | ast.Constant) and _EMITS.search(ast.unparse(node)):
            return True
        work += ast.iter_child_nodes(node)
    return False


def never_called(calls: set[str]) -> list[str]:
    """Access functions that no case calls, of those that the first sets' instructions need:
    `hostile_modern` has clusters, generic pointers, barriers and packed sums."""
    wanted = (
        name
        for name in layout.FUNCTION_INDEX
        if is_access(name) and name.split(".")[1] in SPACES and not name.endswith(LATER)
    )
    return sorted(name for name in wanted if name not in calls)


def listed() -> set[Row]:
    """The forms in the file."""
    rows = (line.split("  ") for line in LISTED.read_text().splitlines() if line)
    return {(row[0], row[1], row[2] if len(row) > 2 else "") for row in rows}


if __name__ == "__main__":
    found = sorted(with_cases()[0])
    print("never called:", *never_called(with_cases()[1]))
    if "--write" in sys.argv:
        LISTED.write_text("".join("  ".join(row).rstrip() + "\n" for row in found))
    for row in found:
        print(*row, sep="  ")
    print("without case:", sorted(emitting_functions() - {row[0] for row in found}))
