"""What a hazard check reports: frozen data."""

from __future__ import annotations

from typing import Any

from gpudbg.dataclass import dataclass

KINDS = {
    "stall": "result read before its latency has passed",
    "unwaited": "result of variable latency read without waiting for its scoreboard",
    "overwrite": "register written while an older result is on its way to it",
    "war": "register written before an older instruction has read it",
    "early-wait": "scoreboard waited for before it is visibly set",
    "dual": "dual-issue pair that cannot issue together",
    "zero-stall": "stall 0 without dual issue",
    "barrier": "barrier on an instruction that cannot signal it",
    "never-set": "wait for a scoreboard that nothing sets",
}
"""Kind -> what it means."""


@dataclass(frozen=True, slots=True)
class HazardSite:
    """An instruction of a finding: code address, "function+0xoffset", text, control notation."""

    pc: int
    place: str
    text: str
    control: str

    def __str__(self) -> str:
        return f"{self.place}  [{self.control}] {self.text}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One hazard.

    Attributes:
        kind: a key of `KINDS`.
        resource: "R4", "P0", "CC", "SB2", or "" where the instruction itself is wrong.
        first: the earlier instruction (producer, reader, scoreboard setter); None when there is
            only one.
        second: the instruction at which it goes wrong.
        short: cycles missing; None where a scoreboard has to be waited for.
        detail: what to change, in words.
        warp: (SM, warp slot) where it was seen first; None from the static check.
        block: coordinates of that warp's CTA, or None.
    """

    kind: str
    resource: str
    first: HazardSite | None
    second: HazardSite
    short: int | None
    detail: str
    warp: tuple[int, int] | None = None
    block: tuple[int, int, int] | None = None

    def lines(self) -> list[str]:
        """The finding as text."""
        what = f" {self.resource}" if self.resource else ""
        short = f", {self.short} cycles short" if self.short else ""
        out = [f"{self.kind}{what}: {KINDS[self.kind]}{short}"]
        if self.first is not None:
            out.append(f"  {self.first}")
        out.append(f"  {self.second}")
        out.append(f"  {self.detail}")
        if self.warp is not None:
            out.append(
                f"  first seen in warp {self.warp[1]} of SM {self.warp[0]}, block {self.block}"
            )
        return out

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""

        def site(s: HazardSite | None) -> dict[str, Any] | None:
            if s is None:
                return None
            return {"pc": s.pc, "place": s.place, "text": s.text, "control": s.control}

        return {
            "kind": self.kind,
            "resource": self.resource,
            "first": site(self.first),
            "second": site(self.second),
            "short": self.short,
            "detail": self.detail,
            "warp": self.warp,
            "block": self.block,
        }
