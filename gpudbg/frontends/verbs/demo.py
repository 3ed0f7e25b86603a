"""gpudbg demo [NAME]: open a shipped story; without a terminal, play its commands."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gpudbg.answers import Listing, column, typed_row
from gpudbg.arguments import Parser
from gpudbg.debug import (
    COMMANDS,
    FIRST,
    NOTES,
    PICTURE,
    SCRIPT,
    TRANSCRIPT,
    DebugSession,
    docstring,
    stories,
    summary,
)
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit, has_screen
from gpudbg.options import add_verb_options


def parser() -> Parser:
    """The verb's arguments."""
    p = Parser(prog="gpudbg demo", description="Open a shipped program and its story.")
    add_verb_options(p, "demo", name={"default": FIRST})
    return p


@typed_row
class StoryRow:
    """A story, by what it shows: a sentence, and a picture of its most telling stop."""

    name: str = column()
    summary: str = column()
    picture: tuple[str, ...] = column(key="")

    def lines(self) -> Sequence[str]:
        """Name and sentence, the picture below them."""
        head = f"{self.name:18} {self.summary}"
        return (head, *(f"    {line}".rstrip() for line in self.picture), "")


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = parser().parse_args(argv)
    if args.list:
        emit(Listing(tuple(gallery()), StoryRow.lines, foot=LEGEND), args.json)
        return EXIT_CLEAN
    cubin = find(args.name)
    if args.copy:
        print(copied(cubin.parent, Path(args.name)))
        return EXIT_CLEAN
    from gpudbg.frontends.verbs import debug

    if not (cubin.parent / COMMANDS).is_file():
        return play_script(cubin.parent / SCRIPT)
    if args.headless or not has_screen():
        return play(cubin)
    return debug.main([str(cubin)])


LEGEND = (
    "Lanes 0 to 31 of a warp: # executes, _ waits, . has ended, X is wrong, = is at a barrier.",
    "gpudbg demo NAME opens a story, gpudbg demo --copy NAME writes its program into a folder.",
)


def gallery() -> Iterator[StoryRow]:
    """The stories from easy to hard."""
    for name, cubin in stories().items():
        drawn = cubin.parent / PICTURE
        lines = drawn.read_text(encoding="utf-8").splitlines() if drawn.is_file() else ()
        yield StoryRow(name, summary(cubin.parent), tuple(lines))


def find(name: str) -> Path:
    """A story's cubin.

    Raises:
        UsageError: there is no such story.
    """
    known = stories()
    if name not in known:
        raise UsageError(f"no story is called {name!r}", "known: " + ", ".join(known))
    return known[name]


NARRATION = (COMMANDS, SCRIPT, NOTES, TRANSCRIPT, PICTURE)
"""Files of a story beside its program: what tells it."""


def copied(story: Path, target: Path) -> str:
    """Copy a story's program, source and launch table; says which files.

    Raises:
        UsageError: a file of that name is there and says something else.
    """
    files = sorted(f for f in story.iterdir() if f.is_file() and f.name not in NARRATION)
    for file in files:
        there = target / file.name
        if there.exists() and there.read_bytes() != file.read_bytes():
            raise UsageError(f"{there} is there already and differs", "move it away first")
    target.mkdir(exist_ok=True)
    for file in files:
        (target / file.name).write_bytes(file.read_bytes())
    return f"{target}: {' '.join(f.name for f in files)}"


def play(cubin: Path, after: Callable[[DebugSession], None] | None = None) -> int:
    """Play a story's commands and print each with its answer; comments are the narration.

    Args:
        cubin: of the story.
        after: called behind each command.
    """
    from gpudbg.api import add_launch_flags, open_session
    from gpudbg.frontends.console.console import PROMPT, Console

    p = Parser(prog="gpudbg demo")
    add_launch_flags(p)
    session = open_session(cubin, p.parse_args([]))
    console = Console(session)
    print(session.stop.message if session.stop else "")
    for line in (cubin.parent / COMMANDS).read_text().splitlines():
        text = line.strip()
        if text.startswith("#") or not text:
            print(text)
            continue
        print(f"{PROMPT}{text}")
        if not console.execute(text):
            return UsageError.exit_code
        if after is not None:
            after(session)
    return console.exit_code()


def play_script(script: Path) -> int:
    """Print what a story's script says of itself, and run it."""
    for line in docstring(script).splitlines():
        print(f"# {line}".rstrip())
    print()
    runpy.run_path(str(script), run_name="__main__")
    return EXIT_CLEAN
