"""Single entries of reference pages: a verb, a command, a setting, a policy, an error, by name."""

from __future__ import annotations

import re
from itertools import pairwise

from gpudbg.manual.generated import GENERATED
from gpudbg.manual.markdown import anchor
from gpudbg.manual.reference.python_api import in_text, names

PLACES = (
    ("command-line", "verb"),
    ("commands", "command"),
    ("policies", "policy"),
    ("json", "json-command"),
)
"""Page and the word before a name in the labels of its entries."""


def entry(topic: str) -> str | None:
    """What the reference says of a name; None where it has none."""
    name = topic.removeprefix("gpudbg ").removeprefix("gpudbg.").strip()
    if name in names():
        return f"# {name}\n\n{in_text(name)}"
    for page, word in PLACES:
        found = section_at(GENERATED[page].text(), anchor(word, name))
        if found:
            return found
    return _row(name)


def section_at(text: str, place: str) -> str:
    """The section below a label, with those inside it."""
    begin = re.search(rf"^\({re.escape(place)}\)=\n+(#+) ", text, re.MULTILINE)
    if begin is None:
        return ""
    rest = text[begin.start(1) :]
    depth = len(begin[1])
    end = re.search(rf"\n(?:\([\w-]+\)=\n+)?#{{1,{depth}}} ", rest[depth:])
    return rest[: end.start() + depth] if end else rest


def _row(name: str) -> str | None:
    """The row of a table whose first code word is the name."""
    for page in ("settings", "error-codes", "special-registers", "command-line", "launch-table"):
        header: list[str] = []
        lines = GENERATED[page].text().splitlines()
        for before, line in pairwise(lines):
            if line.startswith("| ---"):
                header = _cells(before)
            elif line.startswith("| ") and _is_of(line, name):
                said = [f"* {h}: {c}" for h, c in zip(header, _cells(line), strict=False) if c]
                return "\n".join([f"# {name}", "", *said, "", f"From `gpudbg help {page}`.", ""])
    return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _is_of(line: str, name: str) -> bool:
    """Whether a row's first word in code type is a name, or a flag written with its value."""
    words = re.findall(r"`([^`]+)`", line)
    if not words:
        return False
    spelled = {words[0], *(word.split(" ")[0] for word in words[0].split(", "))}
    return name.upper() in {word.upper() for word in spelled}
