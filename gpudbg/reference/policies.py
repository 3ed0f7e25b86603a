"""`gpudbg info policy`: what the model assumes."""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.answers import Listing
from gpudbg.errors import UsageError
from gpudbg.sm.policy import POLICIES, Policy
from gpudbg.symbols import known_names


def policies_answer(words: Sequence[str]) -> Listing:
    """What the model assumes; words choose.

    Raises:
        UsageError: no policy has these words.
    """
    wanted = " ".join(words).lower()
    rows = tuple(p for p in POLICIES if wanted in f"{p.name} {p.rule}".lower())
    if not rows:
        names = [p.name for p in POLICIES]
        raise UsageError(f"no policy speaks of {wanted!r}", known_names(wanted, names))
    return Listing(rows, Policy.lines)
