"""Reference: what is inside of a recording, from the classes that read and write it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator

from gpudbg.formats import recording
from gpudbg.manual.markdown import code, fence, plain, section, table

_ROW = re.compile(r"^    (\w[\w, ]*): (.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def recording_file() -> str:
    """The page on the file format."""
    about = (recording.__doc__ or "").split("\n\n")
    layout = next(part for part in about if part.startswith("    "))
    parts = [
        "A recording (`FILE.gpurec`) is a launch with all its inputs, and what was done with it. "
        "It holds no states: opening it carries the launch out again, which gives the same states "
        "on every machine. `record save` and `gpudbg record` write one "
        f"([how](../howto/bug-reports.md)). This is version {recording.VERSION} of the layout; a "
        "file of another version is refused with a message that names both.\n",
        section(2, "The file"),
        "Little-endian; sections stand one behind the other.\n",
        fence(line[4:] for line in layout.splitlines()),
        "The digest of each section covers those before it, so that a file that was cut or "
        "changed is refused by section and offset. A recording may hold at most "
        f"{recording.MOST_BYTES:,} bytes before compression.\n",
        section(2, "The section `launch`"),
        "A JSON object. Other sections are named in it: the program, source texts, contents of "
        "memory. Hashes are those of `session.state_hash()`: opening compares them, so that a "
        "state that is not the recorded one is never shown as if it were.\n",
    ]
    for kind in _kinds():
        parts += [
            section(3, code(kind.__name__.removeprefix("Recorded")), _about(kind)),
            table(("key", "type", "what"), list(_rows(kind))),
        ]
    return "\n".join(parts)


def _kinds() -> list[type]:
    """The launch first, then its parts in the order of the module."""
    found = [
        value
        for name, value in vars(recording).items()
        if name.startswith("Recorded") and name != "RecordedLaunch"
    ]
    return [recording.RecordedLaunch, *found]


def _about(kind: type) -> str:
    return plain(" ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())) + "\n"


def _rows(kind: type) -> Iterator[list[str]]:
    """Keys with their types, and what the docstring says of them."""
    said: dict[str, str] = {}
    for names, text in _ROW.findall((inspect.getdoc(kind) or "") + "\n"):
        said |= dict.fromkeys(names.split(", "), plain(" ".join(text.split())))
    for field in dataclasses.fields(kind):
        shown = re.sub(r"\bRecorded(\w+)", r"\1", str(field.type))
        yield [code(field.name), code(shown), said.get(field.name, "")]
