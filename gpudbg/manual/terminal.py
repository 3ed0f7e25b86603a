"""Pages as text of a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from gpudbg.manual.reference import stories
from gpudbg.manual.reference.python_api import in_text

_LABEL = re.compile(r"^\([\w-]+\)=\n+", re.MULTILINE)
_ROLE = re.compile(r"\{[\w:+-]+\}`([^`<]*?)(?:\s*<[^`>]*>)?`")
_OBJECT = re.compile(r"```\{eval-rst\}\n\.\. auto\w+:: gpudbg\.(\w+)\n.*?```\n", re.DOTALL)
_DIRECTIVE = re.compile(
    r"^(?P<f>```|:::)\{(?P<name>[\w-]+)\}[^\n]*\n(?P<body>.*?)^(?P=f)\n", re.M | re.S
)
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)(?:\{[^}]*\})?")
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]*(?:\[[^\]]*\][^\[\]]*)*)\]\((#?[\w./-]*(?:#[\w-]+)?)\)(\{[^}]*\})?")
NOTES = {"note": "Note", "tip": "Tip", "warning": "Warning", "admonition": "Note"}


def as_markdown(text: str) -> str:
    """Plain Markdown of a page: what only the site understands is taken out or said in words."""
    text = stories.in_text(_COMMENT.sub("", _LABEL.sub("", text)))
    text = _OBJECT.sub(lambda m: in_text(m[1]), text)
    text = _DIRECTIVE.sub(_directive, text)
    text = _ROLE.sub(lambda m: m[1].strip() if " " in m[1] else m[1], text)
    text = _PICTURE.sub(lambda m: f"*(picture: {m[1]})*" if m[1] else "", text)
    return _LINK.sub(_linked, text)


def _directive(match: re.Match[str]) -> str:
    body = "\n".join(
        line for line in match["body"].splitlines() if not re.match(r":[\w-]+:", line)
    ).strip()
    if match["name"] in NOTES:
        return f"> **{NOTES[match['name']]}.** {body}\n"
    return ""


def _linked(match: re.Match[str]) -> str:
    """A link to another page as its words and the topic that opens it."""
    words, target = match[1], match[2].partition("#")[0]
    name = target.rpartition("/")[2].removesuffix(".md")
    if not target.endswith(".md") or name == "index":
        return words
    return f"{words} (`gpudbg help {name}`)"


def show(text: str, write: Callable[[str], object] | None = None) -> None:
    """Print a page: drawn by rich on a terminal, as plain Markdown elsewhere."""
    page = as_markdown(text)
    if write is not None or not sys.stdout.isatty():
        (write or sys.stdout.write)(page.rstrip("\n") + "\n")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    tall = page.count("\n") > console.height - 2
    if tall:
        with console.pager(styles=True):
            console.print(Markdown(page, hyperlinks=False))
    else:
        console.print(Markdown(page, hyperlinks=False))
