"""gpudbg help [TOPIC]: the manual in the terminal, without a network."""

from __future__ import annotations

from gpudbg.answers import Listing
from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.common import emit
from gpudbg.manual.pages import FOLDERS, find, pages
from gpudbg.options import add_verb_options


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(prog="gpudbg help", description="Read the manual in the terminal.")
    add_verb_options(p, "help")
    args = p.parse_args(argv)
    if args.man:
        from gpudbg import __version__
        from gpudbg.manual.man import man_page

        print(man_page(__version__), end="")
        return EXIT_CLEAN
    if args.topic:
        from gpudbg.manual.terminal import show

        show(_page(args.topic))
        return EXIT_CLEAN
    emit(_overview(), False)
    return EXIT_CLEAN


_FOOT = (
    "",
    "gpudbg help TOPIC opens one; gpudbg help VERB says what a verb takes, gpudbg help COMMAND",
    "what a command of the debugger's prompts does.",
)


def _overview() -> Listing:
    """Every topic below the heading of its kind."""
    lines: list[str] = []
    for kind, heading in FOLDERS.items():
        found = [page for page in pages().values() if page.kind == kind]
        lines += ["", heading, *(f"  {page.name:26} {page.title}" for page in found)]
    return Listing(tuple(lines[1:]), str, foot=_FOOT)


def _page(words: list[str]) -> str:
    """The Markdown of a topic: a page, a verb, or a command of the console.

    Raises:
        UsageError: nothing is called so; names what is near.
    """
    from gpudbg.debug.commands.families import load
    from gpudbg.errors import UsageError
    from gpudbg.manual.lookup import entry

    topic = " ".join(words)
    try:
        page = find(topic)
    except UsageError:
        found = entry(topic)
        if found is None:
            raise
        return found
    # A command and a page of one name: the command first, as it is short.
    if page.name == topic and load().has(topic):
        return f"{entry(topic)}\n{page.text()}"
    return page.text()
