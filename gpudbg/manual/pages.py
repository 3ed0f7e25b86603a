"""The pages of the manual: those written by hand in `docs/`, and those made from tables."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import gpudbg
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.frontends.verbs.listing import VERBS
from gpudbg.manual.generated import GENERATED
from gpudbg.manual.notebook import as_markdown

PACKAGE = Path(gpudbg.__file__).resolve().parent
FOLDERS = {
    "tutorials": "Tutorials",
    "howto": "How-tos",
    "explanation": "Explanations",
    "reference": "Reference",
}
"""Folder of `docs` -> what its pages are."""
NOTEBOOK = ".ipynb"
ORDER = re.compile(r"^(?:[\w/-]+/)?([\w-]+)$", re.MULTILINE)
_OTHER_PAGES = {"glossary": "glossary", "checks": "checks", "questions": "questions/questions"}
"""Pages of the reference that are written by hand: topic -> file."""


@dataclass(frozen=True, slots=True)
class ManualPage:
    """A page.

    Attributes:
        name: the topic that opens it.
        title: its heading.
        kind: its folder, one of `FOLDERS`.
        about: one line on what it says.
        text: gives its Markdown.
    """

    name: str
    title: str
    kind: str
    about: str
    text: Callable[[], str]


def folder() -> Path:
    """Where the pages lie: beside the package in a checkout, inside it in an installation."""
    inside = PACKAGE / "_docs"
    return inside if inside.is_dir() else PACKAGE.parent / "docs"


@cache
def pages() -> dict[str, ManualPage]:
    """Every page by its topic, in the order of the site."""
    found: dict[str, ManualPage] = {}
    for kind in FOLDERS:
        if kind == "reference":
            for made in GENERATED.values():
                found[made.name] = ManualPage(made.name, made.title, kind, made.about, made.text)
            for name, place in _OTHER_PAGES.items():
                found[name] = _written(folder() / f"{place}.md", kind, name)
            continue
        for file in _in_order(folder() / kind):
            found[file.stem] = _written(file, kind, file.stem)
    return found


def _in_order(place: Path) -> list[Path]:
    """Files of a folder as its index lists them."""
    index = place / "index.md"
    if not index.is_file():
        return []
    body = re.search(r"```\{toctree\}\n(.*?)```", index.read_text(encoding="utf-8"), re.DOTALL)
    names = ORDER.findall(body[1]) if body else []
    # The site's build puts a Markdown file beside a notebook: the first of both is the page.
    both = ((place / f"{name}{NOTEBOOK}", place / f"{name}.md") for name in names)
    return [next(f for f in two if f.is_file()) for two in both if any(f.is_file() for f in two)]


def _written(file: Path, kind: str, name: str) -> ManualPage:
    """A page of `docs`; its first paragraph says what it is about."""
    lines = _text(file).splitlines()
    title = next((line[2:] for line in lines if line.startswith("# ")), name)
    body = "\n".join(lines).partition(f"# {title}\n")[2].strip()
    about = " ".join(body.partition("\n\n")[0].split())
    first = re.split(r"(?<=[.?!:])\s", about, maxsplit=1)[0]
    return ManualPage(name, title, kind, first, lambda: _text(file))


def _text(file: Path) -> str:
    """The Markdown of a page that is written by hand."""
    text = file.read_text(encoding="utf-8")
    return as_markdown(text) if file.suffix == NOTEBOOK else text


def find(topic: str) -> ManualPage:
    """The page of a topic; a beginning that only one has is enough.

    Raises:
        UsageError: there is none; names what is near.
    """
    name = topic.strip().lower().replace(" ", "-").removesuffix(".md")
    known = pages()
    if name in known:
        return known[name]
    begun = [page for page in known.values() if page.name.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    raise UsageError(
        f"no topic is called {topic!r}",
        f"did you mean {', '.join(_near(name))}? `gpudbg help` lists them all",
    )


def _near(name: str) -> list[str]:
    """Topics like a word: those that have it in them, those spelled alike, and the least unlike."""
    known = pages()
    inside = [page.name for page in known.values() if name in page.name]
    topics = {page.title.lower(): page.name for page in known.values()}
    topics |= {word: word for word in (*known, *VERBS, *_commands())}
    for alike in (0.6, 0.45, 0.0):
        words = difflib.get_close_matches(name, topics, 3, alike)
        near = list(dict.fromkeys([*inside, *(topics[word] for word in words)]))[:4]
        if near:
            return near
    return []


def _commands() -> list[str]:
    """Names of the console's commands; loaded only for a word that is no page."""
    from gpudbg.debug.commands.families import load

    return [command.name for command in load().commands]
