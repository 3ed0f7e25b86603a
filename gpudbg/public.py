"""What `dir()`, and so an editor's or a prompt's completion, shows of an object for scripts.

A class says `__dir__ = public_names`; what it needs without an underscore for other modules of
gpudbg, and scripts do not, it lists in `_INTERNAL`.
"""

from __future__ import annotations


def public_names(self: object) -> list[str]:
    """Names without underscore, but for those the class calls internal."""
    hidden: frozenset[str] = getattr(type(self), "_INTERNAL", frozenset())
    return sorted(n for n in object.__dir__(self) if n[0] != "_" and n not in hidden)
