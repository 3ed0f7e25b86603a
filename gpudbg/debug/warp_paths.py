"""The divergence stack as paths: which lanes run, and where each of the others waits.

A path is a set of lanes and the place it goes on at.  Path `a` runs now; `b`, `c`, ... are the
stack's entries from the top, each with the lanes that wait *there* (a token holds every lane that
pushed it, so lanes that run, have ended, or wait further up are taken out).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.debug.snapshot import StackEntry

LETTERS = "abcdefghijklmnopqrstuvwxyz"

REASONS = {
    "DIV": "else",
    "SSY": "joined",
    "PBK": "broke",
    "PCNT": "continued",
    "RET": "returned",
    "PLONGJMP": "long-jumped",
    "PEXIT": "leaving",
    "RUNNING": "run next",
    "READY": "ready",
    "YIELDED": "yielded",
    "CONVERGING": "wait at",
    "SYNCING": "wait in",
    "BARRIER": "wait at",
    "CLUSTER": "wait at",
}
"""What lanes that wait did to get there, by token kind; from sm_70 on the state of their group."""


_LABELS = {"PLONGJMP": "LJMP", "RUNNING": "next", "READY": "", "YIELDED": ""}


@dataclass(frozen=True, slots=True)
class Path:
    """Lanes of one path (a mask), what kind of token holds them, and where they go on.

    `level` is the entry's place on the stack, 0 at the bottom; -1 for the running path.  `label` is
    the kind in at most four letters; of a group of lanes what it waits at.
    """

    letter: str
    mask: int
    kind: str
    offset: int
    words: str
    level: int = -1
    label: str = ""


def paths(
    active: int, exited: int, offset: int, stack: Sequence[StackEntry], running: str = "run"
) -> tuple[Path, ...]:
    """Running path first, then the stack from the top; entries without waiting lanes have mask 0.

    Args:
        active, exited: lane masks of the warp.
        offset: where the running path stands.
        stack: entries, top last.
        running: the word for what the running path does.
    """
    out = [Path("a", active, "", offset, f"{active.bit_count()} {running}")]
    claimed = active | exited
    for place, entry in enumerate(reversed(stack)):
        waiting = entry.mask & ~claimed
        claimed |= waiting
        letter = LETTERS[min(place + 1, len(LETTERS) - 1)]
        count = waiting.bit_count()
        words = f"{count} {REASONS.get(entry.kind, 'wait')}" if count else "nobody yet"
        words += f" {entry.waits_at}" if count and entry.waits_at else ""
        level = len(stack) - 1 - place
        label = _LABELS.get(entry.kind, entry.kind)
        if entry.waits_at:
            label = {"WARPSYNC": "SYNC"}.get(entry.waits_at, entry.waits_at.replace("rier ", ""))
        out.append(Path(letter, waiting, entry.kind, entry.offset, words, level, label))
    return tuple(out)


def letters(rows: Sequence[Path]) -> str:
    """32 characters: the letter of the path each lane is on, blank for none."""
    out = [" "] * 32
    for path in rows:
        for lane in range(32):
            if path.mask >> lane & 1:
                out[lane] = path.letter
    return "".join(out)
