"""Instructions of a code section, with the control group that each came with."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..code_layout import CodeLayout
from .control import CONTROL_LOW, GROUP_BITS
from .spa5.sched import groups

_GROUP = (1 << GROUP_BITS) - 1
"""Both families lay out the fields of a group alike."""


def instructions(code: bytes, layout: CodeLayout, base: int = 0) -> Iterator[tuple[int, int, int]]:
    """(address, word, control group) of every instruction of a code section.

    A 128-bit word holds its own group.  A last bundle that is cut short yields the whole words it
    has.
    """
    if not layout.has_control_words:
        for at in layout.offsets(len(code)):
            word = layout.word_at(code, at)
            yield base + at, word, word >> CONTROL_LOW & _GROUP
        return
    words = struct.unpack_from(f"<{len(code) // layout.word_bytes}Q", code)
    parts: tuple[int, ...] = ()
    per = layout.bundle_bytes // layout.word_bytes
    for number, word in enumerate(words):
        slot = number % per
        if slot == 0:
            parts = groups(word)
        else:
            yield base + number * layout.word_bytes, word, parts[slot - 1]


def group_at(code: bytes, layout: CodeLayout, offset: int) -> int:
    """The control group of the instruction at an offset of code."""
    if not layout.has_control_words:
        return layout.word_at(code, offset) >> CONTROL_LOW & _GROUP
    bundle, inside = offset - offset % layout.bundle_bytes, offset % layout.bundle_bytes
    return groups(layout.word_at(code, bundle))[inside // layout.word_bytes - 1]
