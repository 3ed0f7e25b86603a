"""Every example of every document and docstring: by whom it is run, or why it cannot be.

An example is a fenced block that is no plain text, an indented block that holds a command, or a
line behind `>>>`.  `RUN_BY` names the test that runs the examples of a document; `NOT_RUN` is the
one list of those that nothing runs here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.doc_blocks import ANY, PLAYED_ALONE, ROOT

FENCE = re.compile(r"^( *)```(?P<kind>[\w{}-]+)\n(?P<body>.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    (?:\$ )?((?:gpudbg|python|make|pip|pytest|git|cp|eval|sh) .*)$", re.M)
RUN = frozenset(("console", "python"))
"""Kinds of blocks that `tests.doc_blocks` plays."""
OUTPUT = frozenset(("text",))
"""What a block before it prints, compared with it."""


class Example(NamedTuple):
    """An example that `tests.doc_blocks` does not play."""

    page: str
    line: int
    kind: str
    text: str

    @property
    def first(self) -> str:
        """Its first line."""
        return self.text.strip().splitlines()[0].strip()


RUN_BY = {
    "README.md": "tests/house/test_readme.py",
    "docs/questions/questions.md": "tests/repl/test_questions.py",
    "plugins/README.md": "tests/plugins/test_plugin_readme.py",
    **{f"docs/{folder}/*.md": "tests/manual/test_pages.py" for folder in PLAYED_ALONE},
    "docs/source-level.md": "tests/manual/test_pages.py",
    "docs/tutorials/triton-kernel.md": "tests/manual/test_triton_page.py",
}
"""Document -> the test that plays its blocks."""


def documents() -> list[Path]:
    """Markdown that people read: the project's pages, not what is generated of them."""
    found = [*ROOT.glob("*.md"), ROOT / "gpudbg/README.md", ROOT / "plugins/README.md"]
    found += [p for p in (ROOT / "docs").rglob("*.md") if "reference" not in p.parts]
    return sorted(p for p in found if p.with_suffix(".ipynb") not in NOTEBOOKS)


NOTEBOOKS = frozenset((ROOT / "docs").rglob("*.ipynb"))
"""`tests/manual/test_notebook.py` runs them."""


def left() -> Iterator[Example]:
    """Examples that are in a document and in nobody's hands."""
    for page in documents():
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT).as_posix()
        played = any(page.match(pattern) for pattern in RUN_BY)
        done = [m.span() for m in ANY.finditer(text)] if played else []
        fences = list(FENCE.finditer(text))
        for fence in fences:
            if any(a <= fence.start() and fence.end() <= b for a, b in done):
                continue
            if not fence["kind"].startswith("{"):
                yield Example(name, _line(text, fence.start()), fence["kind"], fence["body"])
        for command in COMMAND.finditer(text):
            if not any(f.start() <= command.start() < f.end() for f in fences):
                yield Example(name, _line(text, command.start()), "indented", command[1])


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


BY_OTHERS = {
    "make check": "Makefile",
    "make test": "Makefile", "make fuzz": "Makefile", "make bench": "Makefile",
    "make demo": "tests/sessions/test_stories.py",
    "gpudbg demo spin_lock": "tests/sessions/test_stories.py",
    "gpudbg tests/data/kernels": "tests/tui/test_gallery.py",
    "gpudbg export surface": "tests/manual/test_examples.py",
    "gpudbg check kernel": "tests/manual/test_examples.py",
    '- run: pip install "gpudbg[cuda]"': "tests/manual/test_examples.py",
    "gpu checks:": "tests/manual/test_examples.py",
    "{": "tests/manual/test_examples.py",
    'name = "morton"': "tests/plugins/test_plugin_readme.py",
    "[project.entry-points": "tests/manual/test_examples.py",
    "gpudbg plugins": "tests/plugins/test_plugin_contract.py",
    "gpudbg decode NAME": "tests/plugins/test_plugin_readme.py",
    "gpudbg -i=mi saxpy.cubin": "tests/clients/test_emacs.py",
    "packadd termdebug": "tests/clients/test_vim.py",
    "gpudbg exec ./a.out": "tests/hosting/test_exec.py",
    "python -m tests.silicon.pack": "tests/silicon/test_data.py",
}  # fmt: skip
"""How an example begins -> the test that does the same on files of its own."""

NOT_RUN = {
    "pip install": "it installs from a package index: needs a network",
    "pip download": "it downloads from a package index: needs a network",
    'local dap = require("dap")': "needs Neovim with the plugin nvim-dap",
    "(add-to-list 'dape-configs": "needs Emacs with the package dape",
    "gdbgui": "needs gdbgui and a browser",
    "import numpy as np, triton": "needs the package triton, which has no wheel for every system",
    "ln -s": "it writes into VS Code's folder; the two files it links are tested by themselves",
    "python sm_90.pyz": "runs on a machine with a GPU",
    "python -m tests.silicon.judge": "judges what a machine with a GPU has written",
}
"""How an example begins -> why nothing here can run it: the one list."""
