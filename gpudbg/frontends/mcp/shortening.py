"""Answers that are short: what is cut off waits for `more`."""

from __future__ import annotations

from gpudbg.errors import UsageError

KEPT = 32
"""Answers whose rest is kept."""


class Answers:
    """Texts of answers, the latest ones in full.

    Attributes:
        most: characters of one answer.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: dict[int, list[str]] = {}
        self._number = 0

    def shown(self, text: str) -> tuple[str, int | None]:
        """An answer as it is given, and the number under which `more` has the rest."""
        if len(text) <= self.most:
            return text, None
        lines = [part for line in text.split("\n") for part in self._parts(line)]
        self._number += 1
        self._kept[self._number] = lines
        while len(self._kept) > KEPT:
            del self._kept[min(self._kept)]
        return self._from(self._number, 0), self._number

    def more(self, number: int, first: int) -> str:
        """The lines of an answer from one on, counted from 1.

        Raises:
            UsageError: no such answer or line.
        """
        lines = self._kept.get(number)
        if lines is None:
            raise UsageError(f"answer {number} is not kept", f"the latest {KEPT} long ones are")
        if not 1 <= first <= len(lines):
            raise UsageError(f"answer {number} has lines 1 to {len(lines)}")
        return self._from(number, first - 1)

    def _from(self, number: int, at: int) -> str:
        lines, taken, size = self._kept[number], at, 0
        while taken < len(lines) and (taken == at or size + len(lines[taken]) < self.most):
            size += len(lines[taken]) + 1
            taken += 1
        text = "\n".join(lines[at:taken])
        if taken == len(lines):
            return text
        left = len(lines) - taken
        return f"{text}\n… {left:,} more lines: more(answer={number}, line={taken + 1})"

    def _parts(self, line: str) -> list[str]:
        """A line, in pieces where it alone is too long."""
        return [line[n : n + self.most] for n in range(0, max(len(line), 1), self.most)]
