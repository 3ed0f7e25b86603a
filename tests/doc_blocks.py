"""Documents whose blocks are run: `python -m tests.doc_blocks FILE …` writes their output anew.

A block of ```python is followed by a block of ```text with what it prints, where it prints
anything; each stands alone.  A block of ```console holds command lines (`$ gpudbg …`) and inputs of
the prompt (`gpudbg> …`) with their output; `$ gpudbg repl PROGRAM` begins a prompt, which later
blocks of the document go on with.  README.md marks its blocks with `<!-- run: NAME -->`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import gpudbg
from gpudbg import cli
from gpudbg.frontends.repl.app import BANNER
from gpudbg.frontends.repl.prompt import PROMPT
from gpudbg.frontends.repl.shell import Shell

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?", re.DOTALL)

CONSOLE = re.compile(r"```console\n(?P<body>.*?)```\n", re.DOTALL)


def blocks(text: str) -> list[tuple[str, str]]:
    """(code, what it prints) of every Python block."""
    return [(m["code"], m["shown"] or "") for m in BLOCK.finditer(text)]


def printed(code: str, name: str) -> str:
    """What a block prints; run from the project's folder."""
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    return out.getvalue()


class Player:
    """Plays console blocks; the prompt lives on from block to block."""

    def __init__(self) -> None:
        self._shell: Shell | None = None
        self._out = io.StringIO()

    def play(self, body: str) -> str:
        """A block's inputs with the output they bring now."""
        shown: list[str] = []
        for line in body.splitlines():
            if line.startswith("$ "):
                shown += [line, *self._command_line(shlex.split(line[2:]))]
            elif line.startswith(PROMPT):
                shown += [line, *self._input(line.removeprefix(PROMPT))]
        return "".join(line + "\n" for line in shown)

    def _command_line(self, words: list[str]) -> list[str]:
        assert words[0] == "gpudbg"
        if words[1] == "repl":
            session = gpudbg.open(words[2])
            self._shell = Shell(session, self._out, self._out)
            return BANNER.format(stop=session.stop.message if session.stop else "").splitlines()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            cli.main(words[1:])
        return out.getvalue().splitlines()

    def _input(self, line: str) -> list[str]:
        assert self._shell is not None, "no `$ gpudbg repl` before the first input"
        with contextlib.redirect_stdout(self._out):
            self._shell.push(line)
        said = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return [text.rstrip() for text in said.splitlines()]


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

    player = Player()

    def console(match: re.Match[str]) -> str:
        return f"```console\n{player.play(match['body'])}```\n"

    def one(match: re.Match[str]) -> str:
        shown = printed(match["code"], name)
        rest = f"\n```text\n{shown}```\n" if shown else ""
        return f"```python\n{match['code']}```\n{rest}"

    with contextlib.chdir(ROOT):
        return CONSOLE.sub(console, BLOCK.sub(one, text))


if __name__ == "__main__":
    for word in sys.argv[1:]:
        path = Path(word)
        path.write_text(refreshed(path.read_text(), path.name))
