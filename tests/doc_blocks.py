"""Documents whose blocks are run: `python -m tests.doc_blocks FILE …` writes their output anew.

A block of ```python is followed by a block of ```text with what it prints, where it prints
anything; each stands alone.  A block of ```console holds command lines (`$ gpudbg …`) and inputs of
the prompt (`gpudbg> …`) with their output; `$ gpudbg repl PROGRAM` begins a prompt, which later
blocks of the document go on with.  README.md marks its blocks with `<!-- run: NAME -->`; a block
behind `<!-- file: NAME -->` is a file that the reader writes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from gpudbg import cli
from gpudbg.api import add_launch_flags, open_session
from gpudbg.frontends.repl.app import BANNER
from gpudbg.frontends.repl.prompt import PROMPT
from gpudbg.frontends.repl.shell import Shell
from gpudbg.options import add_verb_options

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?", re.DOTALL)

FILE = re.compile(r"<!-- file: (?P<file>[\w./-]+) -->\n```\w+\n(?P<content>.*?)```\n", re.DOTALL)
"""A file that the reader writes."""
RECORDED = re.compile(r"(\w+\.gpurec): [\d,]+ bytes")
"""The size of a recording: it holds the path of the folder that it was made in."""
ANY = re.compile(
    rf"(?:{FILE.pattern})|(?:```console\n(?P<body>.*?)```\n)|(?:{BLOCK.pattern})", re.DOTALL
)
"""Whatever a page does, in its order."""
PLAYED_ALONE = ("tutorials", "howto", "explanation")
"""Folders of `docs` whose pages say themselves where their files come from."""


def blocks(text: str) -> list[tuple[str, str]]:
    """(code, what it prints) of every Python block."""
    return [(m["code"], m["shown"] or "") for m in BLOCK.finditer(text)]


def printed(code: str, name: str, place: Path = ROOT) -> str:
    """What a block prints; run from the project's folder, or another one."""
    out = io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    return out.getvalue()


class Player:
    """Plays console blocks; the prompt, the exit code and the files live on from block to block.

    Command lines are `gpudbg …`, and `cat FILE`, `ls FOLDER`, `echo $?` and `python FILE.py`, all
    of them in this process; what goes to standard error stands where a terminal shows it.
    """

    def __init__(self) -> None:
        self._shell: Shell | None = None
        self._out = io.StringIO()
        self._code = 0

    def play(self, body: str) -> str:
        """A block's inputs with the output they bring now."""
        shown: list[str] = []
        for line in body.splitlines():
            if line.startswith("$ "):
                shown += [line, *self._command_line(shlex.split(line[2:]))]
            elif line.startswith(PROMPT):
                shown += [line, *self._input(line.removeprefix(PROMPT))]
        return "".join(RECORDED.sub(r"\1: … bytes", line) + "\n" for line in shown)

    def _command_line(self, words: list[str]) -> list[str]:
        match words:
            case ["gpudbg", "repl", *rest]:
                return self._prompt(rest)
            case ["gpudbg", *rest] if "--plugin" in rest:
                return self._of_its_own(rest)
            case ["gpudbg", *rest]:
                return self._printed(lambda: cli.main(rest))
            case ["echo", "$?"]:
                return [str(self._code)]
            case ["cat", name]:
                return Path(name).read_text(encoding="utf-8").splitlines()
            case ["ls", *names]:
                return sorted(f.name for f in Path(*names).iterdir())
            case ["python", name]:
                return self._printed(lambda: _script(name))
        raise AssertionError(f"{words[0]} is no command that this can play")

    def _of_its_own(self, words: list[str]) -> list[str]:
        """A process of its own: plugins are looked for once in a process."""
        call = [sys.executable, "-m", "gpudbg", *words]
        done = subprocess.run(call, capture_output=True, text=True, timeout=120)
        self._code = done.returncode
        return [text.rstrip() for text in (done.stdout + done.stderr).splitlines()]

    def _prompt(self, words: list[str]) -> list[str]:
        parser = argparse.ArgumentParser()
        add_launch_flags(parser)
        add_verb_options(parser, "repl")
        args = parser.parse_args(words)
        session = open_session(args.program, args)
        self._shell = Shell(session, self._out, self._out)
        return BANNER.format(stop=session.stop.message if session.stop else "").splitlines()

    def _printed(self, call: Callable[[], object]) -> list[str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                code = call()
            except SystemExit as end:
                code = end.code
        self._code = code if isinstance(code, int) else 0
        said = (text.rstrip() for text in out.getvalue().splitlines())
        # A slow machine says meanwhile that it works.
        return [text for text in said if not text.startswith("gpudbg: the run goes on")]

    def _input(self, line: str) -> list[str]:
        assert self._shell is not None, "no `$ gpudbg repl` before the first input"
        with contextlib.redirect_stdout(self._out):
            self._shell.push(line)
        said = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return [text.rstrip() for text in said.splitlines()]


def _script(name: str) -> None:
    """Run a program as `python NAME` does: what lies beside it can be imported."""
    before, path = set(sys.modules), str(Path(name).resolve().parent)
    sys.path.insert(0, path)
    try:
        runpy.run_path(name, run_name="__main__")
    finally:
        sys.path.remove(path)
        for module in set(sys.modules) - before:
            if str(getattr(sys.modules[module], "__file__", None)).startswith(path):
                del sys.modules[module]


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


def refreshed(text: str, name: str, place: Path = ROOT) -> str:
    """The document with every block's output as it is now.

    Args:
        text: of the document.
        name: of the document, for errors.
        place: the folder its commands are carried out in.
    """
    player = Player()

    def one(match: re.Match[str]) -> str:
        if match["body"] is not None:
            return f"```console\n{player.play(match['body'])}```\n"
        if match["content"] is not None:
            (Path.cwd() / match["file"]).write_text(match["content"], encoding="utf-8")
            return match[0]
        shown = printed(match["code"], name, place)
        rest = f"\n```text\n{shown}```\n" if shown else ""
        return f"```python\n{match['code']}```\n{rest}"

    with contextlib.chdir(place):
        return ANY.sub(one, text)


def main(names: list[str]) -> None:
    """Write documents anew; pages of the site are played in a folder of their own."""
    for name in names:
        path = Path(name)
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            own = path.resolve().parent.name in PLAYED_ALONE
            path.write_text(refreshed(text, path.name, Path(folder) if own else ROOT), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
