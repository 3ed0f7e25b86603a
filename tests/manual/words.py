"""Words of pages that are set in code type, looked up in the program's tables.

A page that names a verb, a flag, a command, a setting, a variable of the environment or a key that
is not there is wrong by file and line: in the tests, and in the strict build of the site.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from gpudbg.debug.commands.absent import ABSENT
from gpudbg.debug.commands.families import load
from gpudbg.debug.settings import ROWS
from gpudbg.errors import CommandError
from gpudbg.frontends.tui.actions import ACTIONS, LOCAL_ACTIONS
from gpudbg.frontends.tui.keys import keys_text
from gpudbg.frontends.verbs.info_topics import TOPICS
from gpudbg.frontends.verbs.listing import ENVIRONMENT, VERBS
from gpudbg.manual.pages import pages
from gpudbg.manual.reference.command_line import all_rows
from tests.doc_blocks import ROOT

SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
KEY = re.compile(r"\bkeys? `([^`]+)`|\b[Pp]ress(?:es)? `([^`]+)`")
SHELL_FENCE = re.compile(r"^```(?:sh|console|yaml)$")
OTHERS = frozenset(
    "pip jupyter make gcc man dmesg cuobjdump nvdisasm python pytest docker git ln const float int "
    "cuda-gdb unsigned for never stop session import if else def cd export eval".split()
)
"""First words of code that is not the debugger's."""
VERB_TOPICS = frozenset(("isa", "schema", *TOPICS))
"""Of `gpudbg info`, the verb."""
EVERYWHERE = frozenset(
    ("--reverse", "--plugin", "--help", "-h", "--version", "--interpreter", "--mi-listen")
)
"""Flags that are no verb's own, and one of MI."""
GDB = frozenset(("-i", "-q", "--nx", "-iex", "--batch", "-x", "-ex", "--args"))
"""Flags of gdb that a debugger for editors takes."""


class Mistake(NamedTuple):
    """A word that is not there."""

    file: Path
    line: int
    what: str


MORE = ("checks", "mcp", "public-programs", "glossary", "questions/questions", "editors/README")
"""Pages beside the folders; `silicon.md` has commands of other programs."""


def written_pages() -> list[Path]:
    """Pages that are written by hand."""
    folder = ROOT / "docs"
    names = ("tutorials", "howto", "explanation")
    found = [page for name in names for page in sorted((folder / name).glob("*.md"))]
    found += [folder / f"{name}.md" for name in MORE]
    return [ROOT / "README.md", folder / "index.md", *found]


def mistakes(page: Path) -> Iterator[Mistake]:
    """Words of a page that name what is not there."""
    fence = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fence = "" if fence else line
            continue
        for what in _of_fence(fence, line) if fence else _of_text(line):
            yield Mistake(page, number, what)


def _of_fence(fence: str, line: str) -> Iterator[str]:
    if SHELL_FENCE.match(fence):
        for call in re.findall(r"(?:^|\$ |- |&& )(gpudbg [^|&>]*)", line.strip()):
            yield from _call(call)


def _of_text(line: str) -> Iterator[str]:
    for one, two in KEY.findall(line):
        if (one or two) not in _keys():
            yield f"no key map has the key {one or two!r}"
    for span in SPAN.findall(line):
        yield from _span(span)


def _span(span: str) -> Iterator[str]:
    first = span.split(" ")[0]
    if first == "gpudbg":
        yield from _call(span)
    elif span.startswith("--"):
        flag = re.split(r"[ =]", span)[0]
        if flag not in _flags():
            yield f"no verb has the flag {flag}"
    elif first in VERBS and first not in _first_words() and " " in span:
        yield from _call(f"gpudbg {span}")
    elif first in ("set", "show", "with") and " " in span and "(" not in span:
        yield from _setting(span)
    elif re.fullmatch(r"(GPUDBG_\w+)(=\S*)?", span):
        if span.partition("=")[0] not in ENVIRONMENT:
            yield f"no variable of the environment is called {span!r}"
    elif re.match(r"[a-z][a-z-]+ \S", span) and first not in OTHERS:
        if first != "info" or span.split()[1] not in {
            "isa",
            "schema",
            *TOPICS,
        }:  # of the verb of that name
            yield from _command(span)


def _call(text: str) -> Iterator[str]:
    """A command line of gpudbg."""
    try:
        words = shlex.split(text.replace("…", "X"))[1:]
    except ValueError:
        words = text.split()[1:]
    verb = next((w for w in words if not w.startswith("-")), "")
    at = words.index(verb) if verb else len(words)
    if verb == "VERB":
        return
    if verb not in VERBS:
        if verb.isidentifier() and verb.islower() and at == 0 and verb not in _plugin_verbs():
            yield f"gpudbg has no verb {verb!r}"
        verb = "tui"
    if verb == "help" and at + 1 < len(words) and words[at + 1].islower():
        topic = words[at + 1]
        if topic not in pages() and not load().has(topic) and topic not in VERBS:
            yield f"the manual has no topic {topic!r}"
    rows = all_rows(verb)
    known = {flag for row in rows for flag in row.flags} | EVERYWHERE
    known |= GDB if verb == "tui" else set()
    if verb in ("exec", "decode"):
        return
    for word in words:
        flag = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][\w-]*", flag) and flag not in known:
            if not any(flag[:2] == short for short in known if len(short) == 2):
                yield f"`gpudbg {verb}` has no flag {flag}"


def _setting(span: str) -> Iterator[str]:
    words = span.split()[1:]
    if re.match(r"[$*@\w]+[\[$(]|[$*]|var\b", " ".join(words)) or words[0].isupper():
        return
    names = {row.name for row in ROWS}
    if not any(" ".join(words[:n]) in names for n in (1, 2, 3)) and not load().has(
        " ".join(span.split()[:2])
    ):
        yield f"no setting is called {words[0]!r}"


def _command(span: str) -> Iterator[str]:
    try:
        load().resolve(span)
    except CommandError as error:
        if not {span.split()[0], " ".join(span.split()[:2])} & set(ABSENT):
            yield str(error)


@cache
def _first_words() -> frozenset[str]:
    """Of commands: `info` of `info warps`, too."""
    return frozenset(command.name.split()[0] for command in load().commands)


@cache
def _flags() -> frozenset[str]:
    found = {flag for verb in VERBS for row in all_rows(verb) for flag in row.flags}
    return frozenset(found | EVERYWHERE | GDB | _flags_of_pytest())


def _flags_of_pytest() -> set[str]:
    """Those that the pytest plugin registers."""
    from gpudbg.frontends import pytest_plugin

    found: set[str] = set()

    class Parser:
        def getgroup(self, *_: str) -> Parser:
            return self

        def addoption(self, name: str, **_: Any) -> None:
            found.add(name)

    pytest_plugin.pytest_addoption(cast(Any, Parser()))
    return found


@cache
def _keys() -> frozenset[str]:
    shown = (keys_text(action.keys, 9).split() for action in (*ACTIONS, *LOCAL_ACTIONS))
    return frozenset(key for keys in shown for key in keys)


@cache
def _plugin_verbs() -> frozenset[str]:
    from gpudbg.plugin import discover

    return frozenset(discover().cli)
