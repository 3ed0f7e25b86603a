"""Pieces of Markdown that reference pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_QUOTED = re.compile(r"(`[^`]+`)")


def code(value: object) -> str:
    """A word in code type."""
    text = str(value)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def plain(text: str) -> str:
    """A sentence of a table or a docstring: code spans stay, marks of Markdown are taken as "
    "text."""
    parts = _QUOTED.split(text)
    return "".join(p if p.startswith("`") else _escaped(p) for p in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]$])", r"\\\1", text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty in every row are left out."""
    rows = [list(row) for row in rows]
    kept = [n for n in range(len(header)) if n == 0 or any(row[n] for row in rows)]
    lines = [[header[n] for n in kept], ["---"] * len(kept)]
    lines += [[_cell(row[n]) for n in kept] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def fence(lines: Iterable[str], language: str = "text") -> str:
    """A block in code type."""
    return "\n".join([f"```{language}", *lines, "```", ""])


def label(name: str, *parts: str) -> str:
    """A place that other pages link to."""
    return f"({anchor(name, *parts)})=\n"


def anchor(name: str, *parts: str) -> str:
    """The name of such a place."""
    words = "-".join((name, *parts)).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def section(depth: int, title: str, *body: str) -> str:
    """A heading and what stands below it."""
    return "\n".join([f"{'#' * depth} {title}", "", *(b for b in body if b)])
