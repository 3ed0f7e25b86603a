"""How much a call may take."""

from __future__ import annotations

import json
from dataclasses import asdict

from gpudbg.dataclass import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What one call of a tool, and all of them together, may take.

    Attributes:
        instructions: warp instructions of one run.
        seconds: of one call; a run stops then, and whatever does not stop is ended.
        memory_mb: address space of the worker beside what it begins with.
        answer_chars: of one answer; `more` has the rest.
        sessions, programs: that may be open at a time.
    """

    instructions: int = 200_000_000
    seconds: int = 60
    memory_mb: int = 4096
    answer_chars: int = 4000
    sessions: int = 16
    programs: int = 64

    def to_text(self) -> str:
        """As one word of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> CallLimits:
        """What `to_text` wrote."""
        return cls(**json.loads(text))


def limit_memory(megabytes: int) -> None:
    """Refuse this process and those it starts more address space than they have now and so much.

    What asks for more gets an error of its own, as any lack of memory.
    """
    try:
        import resource
    except ImportError:
        return  # No such limits on this system: time and instructions are limited still.
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        held = 0
    most = held + megabytes * MEGABYTE
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
