"""gpudbg info TOPIC: what needs no program: isa, schema, policy, engine, special, nsight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gpudbg.answers import Answer, Listing, Notice, column, typed_row
from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.common import emit


def _policy(words: Sequence[str]) -> Answer:
    """What the model assumes; words choose."""
    from gpudbg.reference import policies_answer

    return policies_answer(words)


def _special(words: Sequence[str]) -> Answer:
    """Special registers: all of them, or some with their fields."""
    from gpudbg.reference import registers_answer

    return registers_answer(words)


def _engine(words: Sequence[str]) -> Answer:
    """The engines."""
    from gpudbg.options import ENGINES, JOBS

    foot = (
        f"--{JOBS.name} N      {JOBS.help} (default {JOBS.default})",
        "In a session: `info engine` tells what a launch does; `gpudbg cache` what is kept.",
    )
    rows = tuple(EngineRow(name, what) for name, what in ENGINES.items())
    return Listing(rows, str, foot=foot, by="name", value="what")


@typed_row
class EngineRow:
    """A way to execute."""

    name: str = column()
    what: str = column()

    def __str__(self) -> str:
        return f"--engine {self.name:5} {self.what}"


def nsight_path() -> Path:
    """The file called cuda-gdb that starts gpudbg; it is not on PATH."""
    import gpudbg

    return Path(gpudbg.__file__).parent / "nsight" / "cuda-gdb"


def _nsight(words: Sequence[str]) -> Answer:
    """Where the file called cuda-gdb is."""
    path = str(nsight_path())
    return Notice(path, {"path": path})


TOPICS: dict[str, Callable[[Sequence[str]], Answer]] = {
    "policy": _policy,
    "engine": _engine,
    "special": _special,
    "nsight": _nsight,
}
"""Topics beside `isa` and `schema`."""


def show_topic(name: str, words: Sequence[str], as_json: bool) -> int:
    """Print one."""
    emit(TOPICS[name](words), as_json)
    return EXIT_CLEAN
