"""What to say where a name is not there: the names that are near it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gpudbg.formats.names import plain_name


def known_names(name: str, known: Iterable[str], limit: int = 8) -> str:
    """A hint: the names nearest to one that is not there, else the first that are."""
    names = list(dict.fromkeys(known))
    plain = {plain_name(n): n for n in names} | {n: n for n in names}
    near = difflib.get_close_matches(name, plain, n=3)
    if near:
        return f"did you mean {', '.join(near)}?"
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return "known: " + (", ".join(names[:limit]) or "none") + more
