"""What a named policy is."""

from __future__ import annotations

from typing import Literal

from gpudbg.answers import column, typed_row

Certainty = Literal["documented", "inferred", "modelled"]


@typed_row
class Policy:
    """One judgement: its name, what the model does, how sure it is, and why."""

    name: str = column()
    certainty: Certainty = column()
    rule: str = column()
    reason: str = column()

    def lines(self) -> tuple[str, ...]:
        """The policy for people."""
        return f"{self.name}  [{self.certainty}]", f"    {self.rule}", f"    why: {self.reason}"
