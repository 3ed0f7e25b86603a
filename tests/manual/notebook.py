"""The Jupyter tutorial: `python -m tests.manual.notebook` carries it out and stores its outputs."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from pathlib import Path
from typing import Any

from tests.doc_blocks import ROOT

FILE = ROOT / "docs" / "tutorials" / "notebook.ipynb"


def cells() -> list[dict[str, Any]]:
    """The cells as they lie in the file."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["cells"]
    return found


def source(cell: dict[str, Any]) -> str:
    """A cell's text; files hold it as a text or as lines."""
    return "".join(cell["source"])


def shown(cell: dict[str, Any]) -> dict[str, str]:
    """What a cell shows, by kind; a picture of memory has addresses, which are the emulator's."""
    found: dict[str, str] = {}
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream":
            found["stream"] = found.get("stream", "") + "".join(output["text"])
        else:
            found |= {kind: "".join(text) for kind, text in output["data"].items()}
    return found


def by_kernel(folder: Path) -> list[dict[str, Any]]:
    """Every cell carried out in a Jupyter kernel, in a folder of its own."""
    import nbclient
    import nbformat

    notebook = nbformat.read(FILE, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return [dict(cell) for cell in notebook.cells]


def in_process(folder: Path) -> list[dict[str, str]]:
    """What each cell of code shows, carried out here and asked for as Jupyter asks."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    with contextlib.chdir(folder):
        for cell in cells():
            if cell["cell_type"] == "code":
                found.append(_one(source(cell), names))
    return found


def _one(code: str, names: dict[str, Any]) -> dict[str, str]:
    from IPython.lib.pretty import pretty

    body = ast.parse(code)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return {}
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if value is None:
        return {}
    rich = getattr(value, "_repr_html_", None)
    return {"text/plain": pretty(value)} | ({"text/html": rich()} if rich is not None else {})


def main() -> None:
    """Write the outputs anew."""
    import tempfile

    import nbformat

    notebook = nbformat.read(FILE, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for cell, made in zip(notebook.cells, by_kernel(Path(folder)), strict=True):
            if cell.cell_type == "code":
                cell.outputs = made["outputs"]
                cell.execution_count = made["execution_count"]
                cell.metadata = {}
    text = nbformat.writes(notebook)
    FILE.write_text(re.sub(r'\n {4}"version": "[\d.]+"', '\n    "version": "3"', text) + "\n")


if __name__ == "__main__":
    main()
