"""Shipped stories: a program with a launch table, notes, and the commands that tell it."""

from __future__ import annotations

import ast
from pathlib import Path

from gpudbg.dataclass import dataclass

FIRST = "first_steps"
COMMANDS = "commands.gdb"
"""The story's command file, beside its cubin."""

SCRIPT = "script.py"
"""A story that is a Python script instead."""

NOTES = "notes.md"
TRANSCRIPT = "expected.txt"
"""What the story prints, as the tests compare it."""
PICTURE = "picture.txt"
"""Its most telling stop in a few lines (`python -m tests.sessions.stories` makes it)."""

BY_DIFFICULTY = (
    FIRST,
    "ptx_registers",
    "out_of_bounds",
    "misaligned_vector",
    "divergent_branch",
    "carry_chain",
    "first_nan",
    "stray_store",
    "surface_clamp",
    "barrier_count",
    "divergent_barrier",
    "hidden_race",
    "unset_shared",
    "lost_update",
    "stack_overflow",
    "shuffle_bug",
    "until_volta",
    "spin_lock",
    "spin_lock_ends",
    "tensor_tile",
    "spill_windows",
    "surface_reduction",
    "two_builds",
    "bpt_pause",
    "trap_counter",
    "trap_handler",
)
"""Names of the shipped stories from easy to hard: what one needs to know, then how long it is."""


@dataclass(frozen=True, slots=True)
class StoryStep:
    """A piece of narration and the commands that follow it."""

    text: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """One story; `notes` are its lines without the heading, which is `title`."""

    name: str
    cubin: Path
    title: str
    summary: str
    notes: tuple[str, ...]
    beats: tuple[StoryStep, ...]


def sessions_folder() -> Path:
    """Where the shipped sessions are: inside the package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "_sessions"
    return inside if inside.is_dir() else package.parent / "sessions"


def stories() -> dict[str, Path]:
    """Story name -> its cubin, from easy to hard; those that `BY_DIFFICULTY` lacks come last."""
    found: dict[str, Path] = {}
    root = sessions_folder()
    if not root.is_dir():
        return found
    place = {name: n for n, name in enumerate(BY_DIFFICULTY)}
    for folder in sorted(root.iterdir(), key=lambda f: (place.get(f.name, len(place)), f.name)):
        cubins = sorted(folder.glob("*.cubin")) if folder.is_dir() else []
        if cubins and ((folder / COMMANDS).is_file() or (folder / SCRIPT).is_file()):
            found[folder.name] = cubins[0]
    return found


def summary(folder: Path) -> str:
    """The story's first comment line, or its script's."""
    if (folder / COMMANDS).is_file():
        text = (folder / COMMANDS).read_text().splitlines()
        return text[0].lstrip("# ") if text and text[0].startswith("#") else ""
    return docstring(folder / SCRIPT).partition("\n")[0]


def docstring(script: Path) -> str:
    """What a script says it is about; it is not run."""
    return ast.get_docstring(ast.parse(script.read_text())) or ""


def load_story(cubin: Path) -> Story:
    """A story with everything it says."""
    folder = cubin.parent
    file = folder / NOTES
    lines = file.read_text().splitlines() if file.is_file() else []
    title = lines[0].lstrip("# ") if lines and lines[0].startswith("#") else folder.name
    notes = lines[1:] if lines and lines[0].startswith("#") else lines
    while notes and not notes[0].strip():
        notes = notes[1:]
    commands = folder / COMMANDS
    beats = _beats(commands.read_text()) if commands.is_file() else ()
    return Story(folder.name, cubin, title, summary(folder), tuple(notes), beats)


def _beats(text: str) -> tuple[StoryStep, ...]:
    """Comment lines, then the commands below them; the first line is the summary."""
    found: list[StoryStep] = []
    words: list[str] = []
    commands: list[str] = []

    def close() -> None:
        if words or commands:
            found.append(StoryStep(" ".join(words), tuple(commands)))
            words.clear()
            commands.clear()

    for number, line in enumerate(text.splitlines()):
        line = line.strip()
        if line.startswith("#"):
            if commands:
                close()
            if number:
                words.append(line.lstrip("# "))
        elif line:
            commands.append(line)
    close()
    return tuple(found)


def story_of(program: str) -> Story | None:
    """The story a program file belongs to; None for a program of one's own."""
    path = Path(program).absolute()
    folder = sessions_folder().absolute()
    if path.parent.parent != folder or not path.is_file():
        return None
    known = stories().get(path.parent.name)
    return load_story(path) if known is not None else None
