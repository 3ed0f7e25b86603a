"""Textures and surfaces: handed whole to their unit, `gpudbg.sm.images`."""

from __future__ import annotations

from gpudbg.sm.semantics.machine import WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import WideInsn


@register_wide("TEX", "TLD", "TLD4", "TXD", "TXQ", "TMML", "SULD", "SUST", "SURED", "SUATOM")
def image(m: WideMachine, i: WideInsn) -> None:
    """A fetch, a query or an access of an image."""
    m.surface(i.op, i)
