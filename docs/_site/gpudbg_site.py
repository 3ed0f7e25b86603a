"""What the site adds to Sphinx: generated pages, words that are looked up, links to the "
"glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drawings
import pictures
from docutils import nodes
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic, Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext import napoleon
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from gpudbg.manual.generated import GENERATED
from gpudbg.manual.notebook import as_markdown
from gpudbg.manual.reference.python_api import names
from tests.manual.words import mistakes, written_pages

LOGGER = logging.getLogger(__name__)
PUBLIC = frozenset(names())

REFERENCE = Path(__file__).resolve().parents[1] / "reference"


class PromptLexer(RegexLexer):
    """Lines of a shell (`$ …`) and of the debugger's prompt (`gpudbg> …`), and what they print."""

    name = "Console of gpudbg"
    aliases = ("console",)
    tokens = {  # noqa: RUF012
        "root": [
            (r"^(\$ |gpudbg> )(.*\n)", bygroups(Generic.Prompt, Generic.Strong)),
            (r"^.*\n", Text),
            (r".", Text),
        ]
    }


class PropertyDocstring(napoleon.GoogleDocstring):
    """Docstrings of properties are sentences: what stands before a colon is no type."""

    def __init__(self, lines: Any, config: Any = None, app: Any = None, *rest: Any) -> None:
        what, *more = rest or ("",)
        super().__init__(lines, config, app, "method" if what == "property" else what, *more)


napoleon.GoogleDocstring = PropertyDocstring  # type: ignore[misc]


def write_reference(app: Sphinx) -> None:
    """Write the pages of the reference, where their text has changed."""
    REFERENCE.mkdir(exist_ok=True)
    for page in GENERATED.values():
        file = REFERENCE / f"{page.name}.md"
        text = page.text()
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in (REFERENCE.parent / "tutorials").glob("*.ipynb"):
        text = as_markdown(file.read_text(encoding="utf-8"), rich=True)
        file.with_suffix(".md").write_text(text, encoding="utf-8")
    if app.builder.format == "html":
        drawings.write()
        pictures.write()
    else:
        # `make check` reads pages and draws nothing; the site's build finds missing pictures.
        app.config.suppress_warnings.append("image.not_readable")


def look_up_words(app: Sphinx) -> None:
    """A page that names a flag, key or command that is not there is wrong by file and line."""
    for page in written_pages():
        for found in mistakes(page):
            LOGGER.warning(found.what, location=f"{found.file}:{found.line}", type="words")


def docstring_marks(
    app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]
) -> None:
    """Docstrings quote code as Markdown does: one backtick; reStructuredText wants two."""
    lines[:] = [
        line
        if line.lstrip().startswith((">>>", "..."))
        else re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line).replace("*args", r"\*args")
        for line in lines
    ]


def inner_types(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, shown: nodes.TextElement
) -> nodes.Node | None:
    """Types of signatures that are not public have no page: their names stand as text.

    mypy checks them where they are written; a reference in a page's text is not let off.
    """
    if node.get("reftype") not in ("class", "obj", "exc") or "py:class" not in node:
        return None
    name = str(node["reftarget"]).rpartition(".")[2]
    if name not in PUBLIC or node["reftarget"] == f"gpudbg.{name}":
        return shown if name not in PUBLIC else None
    domain = env.domains.python_domain
    found = domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", f"gpudbg.{name}", node, shown
    )
    return found or shown


COMMON = frozenset(
    "branch turn part door trace policy origin next until step finish advance valid active".split()
)
"""Terms whose plain English sense is what most sentences mean."""


def term_id(term: str) -> str:
    """The place of a term in the glossary."""
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def glossary_terms(text: str) -> Iterator[str]:
    """The terms of the glossary's tables."""
    for line in text.splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) == 3 and cells[0] not in ("| term", "| ---"):
            yield from (t.strip() for t in re.sub(r"\(.*?\)", "", cells[0][2:]).split(","))


def mark_terms(app: Sphinx, doctree: nodes.document) -> None:
    """Each row of the glossary is a place that words lead to."""
    if app.env.docname != "glossary":
        return
    for row in doctree.findall(nodes.row):
        first = row.next_node(nodes.entry)
        for term in re.sub(r"\(.*?\)", "", first.astext()).split(",") if first else ():
            row["ids"].append(term_id(term))


class GlossaryLinks(SphinxPostTransform):
    """The first use of a term on a page leads to the glossary."""

    default_priority = 900
    FOLDERS = ("tutorials/", "howto/", "explanation/")
    SKIPPED = (nodes.literal, nodes.reference, nodes.title, nodes.literal_block, nodes.raw)

    def run(self, **kwargs: Any) -> None:
        """Put the links in."""
        if not self.env.docname.startswith(self.FOLDERS):
            return
        text = (Path(self.app.srcdir) / "glossary.md").read_text(encoding="utf-8")
        left = {t.lower(): t for t in glossary_terms(text) if len(t) > 1 and t not in COMMON}
        if self.app.builder.format != "html":
            return
        words = sorted(left, key=len, reverse=True)
        find = re.compile(rf"\b({'|'.join(map(re.escape, words))})(e?s)?\b", re.IGNORECASE)
        target = self.app.builder.get_relative_uri(self.env.docname, "glossary")
        for node in list(self.document.findall(nodes.Text)):
            if self._inside(node):
                continue
            parts: list[nodes.Node] = []
            at, plain = 0, node.astext()
            for match in find.finditer(plain):
                term = left.pop(match[1].lower(), None)
                if term is None:
                    continue
                parts += [nodes.Text(plain[at : match.start()])]
                link = nodes.reference("", match[0], refuri=f"{target}#{term_id(term)}")
                link["classes"].append("glossary")
                link["internal"] = True
                parts.append(link)
                at = match.end()
            if parts:
                node.parent.replace(node, [*parts, nodes.Text(plain[at:])])

    def _inside(self, node: nodes.Node) -> bool:
        above = node.parent
        while above is not None:
            if isinstance(above, self.SKIPPED):
                return True
            above = above.parent
        return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry."""
    app.add_lexer("console", PromptLexer)
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", look_up_words)
    app.connect("autodoc-process-docstring", docstring_marks)
    app.connect("doctree-read", mark_terms)
    app.connect("missing-reference", inner_types)
    app.add_post_transform(GlossaryLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
