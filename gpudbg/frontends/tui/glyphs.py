"""Every mark the terminal UI draws, in two sets: Unicode, and ASCII for terminals without it."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping

from gpudbg.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One glyph set; height of a lane mark tells liveness, so it reads without colour.

    `bars` are the eight levels of a value bar, lowest first; `flat` stands for equal values.
    """

    name: str
    pc: str
    past: str
    point: str
    point_off: str
    cross: str
    running: str
    waiting: str
    parked: str
    exited: str
    never: str
    unwritten: str
    bars: str
    flat: str
    true: str
    false: str
    ready: str
    barrier: str
    begun_not: str
    done: str
    changed: str
    cut: str
    becomes: str
    rule: str
    rule_heavy: str
    column: str
    tree: str
    open: str
    far: str
    times: str
    top_left: str
    top_right: str
    low_left: str
    low_right: str
    tee_left: str
    tee_right: str
    bookmark: str
    branch_up: str
    branch_down: str

    def branch_mark(self, target: int, pc: int | None) -> str:
        """The mark of the row the next branch may go to: up or down from the pc."""
        return self.branch_up if pc is not None and target < pc else self.branch_down


UNICODE = Glyphs(
    name="unicode",
    pc="►",
    past="◄",
    point="●",
    point_off="o",
    cross="×",
    running="▆",
    waiting="▃",
    parked="▁",
    exited="·",
    never=" ",
    unwritten="·",
    bars="▁▂▃▄▅▆▇",
    flat="─",
    true="▄",
    false="·",
    ready="▪",
    barrier="║",
    begun_not="▫",
    done="·",
    changed="•",
    cut="…",
    becomes="→",
    rule="─",
    rule_heavy="━",
    column="│",
    tree="└",
    open="▼",
    far="·",
    times="×",
    top_left="┌",
    top_right="┐",
    low_left="└",
    low_right="┘",
    tee_left="├",
    tee_right="┤",
    bookmark="◊",
    branch_up="↑",
    branch_down="↓",
)

ASCII = Glyphs(
    name="ascii",
    pc=">",
    past="<",
    point="*",
    point_off="o",
    cross="X",
    running="#",
    waiting="=",
    parked="_",
    exited=".",
    never=" ",
    unwritten=".",
    bars="0123456",
    flat="-",
    true="#",
    false=".",
    ready="r",
    barrier="|",
    begun_not="w",
    done=".",
    changed="~",
    cut="~",
    becomes=">",
    rule="-",
    rule_heavy="=",
    column="|",
    tree="`",
    open="v",
    far=".",
    times="x",
    top_left="+",
    top_right="+",
    low_left="`",
    low_right="+",
    tee_left="+",
    tee_right="+",
    bookmark="+",
    branch_up="^",
    branch_down="v",
)

SETS = {g.name: g for g in (UNICODE, ASCII)}
"""Glyph sets by name."""

_CJK = ("zh", "ja", "ko")


def choose(environ: Mapping[str, str] | None = None, saved: str = "") -> Glyphs:
    """The set for this terminal: ASCII when asked for, or where the locale is not UTF-8.

    `saved` is what the user saved of the setting `ascii`: "on", "off", or "" for neither.

    Linux's own console has too few glyphs for the others, whatever its locale.
    Blocks and rules are of ambiguous width, which CJK locales draw two cells wide; those get
    ASCII too unless GPUDBG_ASCII=0.
    """
    env = os.environ if environ is None else environ
    asked = env.get("GPUDBG_ASCII", "") or {"on": "1", "off": "0"}.get(saved, "")
    if asked:
        return UNICODE if asked == "0" else ASCII
    if env.get("TERM") == "linux":
        return ASCII
    spoken = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if spoken.startswith(_CJK):
        return ASCII
    coding = spoken.partition(".")[2] or (locale.getpreferredencoding(False) if not spoken else "")
    if coding.lower().replace("-", "") == "utf8":
        return UNICODE
    return UNICODE if spoken.startswith("C.UTF") else ASCII
