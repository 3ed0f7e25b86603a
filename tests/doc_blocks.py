"""Documents whose Python blocks are run: `python -m tests.doc_blocks FILE …` writes their output.

A block of ```python is followed by a block of ```text with what it prints, where it prints
anything.  Blocks of one document stand alone unless the test says otherwise.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?", re.DOTALL)


def blocks(text: str) -> list[tuple[str, str]]:
    """(code, what it prints) of every Python block."""
    return [(m["code"], m["shown"] or "") for m in BLOCK.finditer(text)]


def printed(code: str, name: str) -> str:
    """What a block prints; run from the project's folder."""
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    return out.getvalue()


def private_names(code: str) -> set[str]:
    """Names of others that a program reaches for and that begin with an underscore."""
    tree = ast.parse(code)
    found = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    found |= {
        a.name.rpartition(".")[2]
        for n in ast.walk(tree)
        if isinstance(n, ast.Import | ast.ImportFrom)
        for a in n.names
    }
    return {n for n in found if n.startswith("_") and not n.endswith("__")}


def refreshed(text: str, name: str) -> str:
    """The document with every block's output as it is now."""

    def one(match: re.Match[str]) -> str:
        shown = printed(match["code"], name)
        rest = f"\n```text\n{shown}```\n" if shown else ""
        return f"```python\n{match['code']}```\n{rest}"

    return BLOCK.sub(one, text)


if __name__ == "__main__":
    for word in sys.argv[1:]:
        path = Path(word)
        path.write_text(refreshed(path.read_text(), path.name))
