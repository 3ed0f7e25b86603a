"""What the Xid numbers in NVIDIA kernel logs stand for, and what to look at next."""

from __future__ import annotations

from gpudbg.regs.table_reader import blocks

XID_NUMBERS: dict[int, tuple[str, str]] = {
    int(block.head.words[0]): (block.head.text(), block.head.text(1)) for block in blocks("xid")
}


def xid_meaning(number: int) -> tuple[str, str] | None:
    """(what it is, what to look at next) of an Xid number; None for numbers not in the table."""
    return XID_NUMBERS.get(number)
