"""Notebooks as pages: their cells as Markdown, with what each showed when it was carried out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def as_markdown(text: str, rich: bool = False) -> str:
    """A notebook as Markdown.

    Args:
        text: of the file (.ipynb).
        rich: whether tables stay what a browser draws; else they are text.
    """
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    return "\n".join(part for cell in cells for part in _cell(cell, rich))


def _cell(cell: dict[str, Any], rich: bool) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield f"{source}\n"
        return
    yield f"```python\n{source}\n```\n"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if rich and "text/html" in data:
            html = "".join(data["text/html"])
            yield f'```{{raw}} html\n<div class="cell-output">{html}</div>\n```\n'
        elif "text/plain" in data or "text" in output:
            shown = "".join(data.get("text/plain", output.get("text", "")))
            yield f"```text\n{shown}\n```\n"
