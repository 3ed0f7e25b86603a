"""The assembler's errors: its words, with line and column."""

from __future__ import annotations

from gpudbg.errors import UsageError


class AsmError(UsageError):
    """Assembler text that llvm-mc refuses, in its words.

    Args:
        error: the message.
        line: 1-based.
        column: 1-based, in bytes of the line, as llvm-mc counts.
        hint: what to do, where the message alone does not say.
    """

    def __init__(self, error: str, line: int, column: int, hint: str | None = None) -> None:
        super().__init__(f"{line}:{column}: error: {error}", hint)
        self.error = error
        self.line = line
        self.column = column
