"""What a named policy is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Certainty = Literal["documented", "inferred", "modelled"]


@dataclass(frozen=True, slots=True)
class Policy:
    """One judgement: its name, what the model does, how sure it is, and why."""

    name: str
    certainty: Certainty
    rule: str
    reason: str
