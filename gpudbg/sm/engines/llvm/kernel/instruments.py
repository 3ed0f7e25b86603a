"""Instruments: what observers want is a pass over a kernel's code while it is emitted.

An instrument emits statements at fixed points of that code: where the function begins, at the head
and the end of a block, before an instruction, before an access.  Traces (`trace_rows`) and the
tests of watchpoints (`watch_tests`) are instruments; nothing else of the emitter knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.values import Num


class Instrument:
    """Emits nothing; each pass has the points that it needs."""

    def entry(self) -> Sequence[str]:
        """Statements at the beginning of the function, once all blocks have been emitted."""
        return ()

    def clear(self) -> None:
        """Drop what belongs to the previous block."""

    def begin_block(self) -> None:
        """Emit what stands at the head of a block."""

    def finish_block(self) -> None:
        """Emit or settle what concerns the whole block."""

    def note_instruction(self, insn: Any) -> None:
        """Emit what stands before an instruction, whose execution mask is known."""

    def note_access(self, kind: str, space: str, address: Num, size: int) -> None:
        """Emit what stands before an access of the present instruction.

        Args:
            kind: "load", "store" or "atomic".
            size: bytes of each lane.
        """

    def note_atomic(self, space: str, op: str, type_: str, address: Num) -> None:
        """`note_access` of an atomic, if it has a compiled version."""
        bits = layout.ATOMICS.get(f"{op}.{type_}", 0)
        if bits and f"atomic.{space}.{op}.{type_}" in layout.FUNCTION_INDEX:
            self.note_access("atomic", space, address, bits // 8)

    def mark(self) -> Any:
        """The state, for `revert`."""

    def revert(self, mark: Any) -> None:
        """The state at a mark: the present instruction is left to the step engine."""


class Instruments(Instrument):
    """Several of them, one after the other."""

    def __init__(self, made: Sequence[Instrument]) -> None:
        self._made = made

    def __bool__(self) -> bool:
        return bool(self._made)

    def entry(self) -> Sequence[str]:
        return [line for each in self._made for line in each.entry()]

    def clear(self) -> None:
        for each in self._made:
            each.clear()

    def begin_block(self) -> None:
        for each in self._made:
            each.begin_block()

    def finish_block(self) -> None:
        for each in self._made:
            each.finish_block()

    def note_instruction(self, insn: Any) -> None:
        for each in self._made:
            each.note_instruction(insn)

    def note_access(self, kind: str, space: str, address: Num, size: int) -> None:
        for each in self._made:
            each.note_access(kind, space, address, size)

    def mark(self) -> list[Any]:
        return [each.mark() for each in self._made]

    def revert(self, mark: list[Any]) -> None:
        for each, its in zip(self._made, mark, strict=True):
            each.revert(its)
