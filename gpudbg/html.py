"""Texts and tables as HTML, for notebooks (`_repr_html_`).

Every text is escaped here and nowhere else: names of files, kernels and sources come from a
program, and a notebook would run what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

ROWS = 200
"""Rows of a table that are drawn; the rest is counted."""
HERE = "font-weight:bold"
"""The style of the row that a view is about."""


def escape(text: str) -> str:
    """Text without marks of HTML."""
    from html import escape  # Not at the top: it loads a table of entities at every start.

    return escape(text)


def pre(lines: Iterable[str]) -> str:
    """Lines of text as they stand."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def heading(text: str) -> str:
    """What a view is of."""
    return f"<p><b>{escape(text)}</b></p>"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], styles: Sequence[str] = ()) -> str:
    """A table; `styles` has the CSS of each row, where it has one."""
    cells = "".join(f"<th>{escape(str(word))}</th>" for word in header)
    out = [f"<table><thead><tr>{cells}</tr></thead><tbody>"]
    for number, row in enumerate(rows[:ROWS]):
        style = styles[number] if number < len(styles) else ""
        begin = f'<tr style="{escape(style)}">' if style else "<tr>"
        body = "".join(f"<td><code>{escape(str(cell))}</code></td>" for cell in row)
        out.append(f"{begin}{body}</tr>")
    out.append("</tbody></table>")
    left = len(rows) - ROWS
    return "".join(out) + (f"<p>… {left:,} more</p>" if left > 0 else "")
