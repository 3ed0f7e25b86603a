"""Global errors of an SM: the one table of the bits of HWW_GLOBAL_ESR.

Names follow nouveau and nvgpu; rnndb's and log spellings are aliases.
"""

from __future__ import annotations

from enum import IntFlag

from gpudbg.dataclass import dataclass
from gpudbg.regs.table_reader import TableBlock, blocks
from gpudbg.regs.words import Certainty, Family


class GlobalEsr(IntFlag):
    """Bits of HWW_GLOBAL_ESR and of its report mask; unnamed bits are kept."""

    SM_TO_SM_FAULT = 1 << 0
    L1_ERROR = 1 << 1
    MULTIPLE_WARP_ERRORS = 1 << 2
    PHYSICAL_STACK_OVERFLOW = 1 << 3
    BPT_INT = 1 << 4
    BPT_PAUSE = 1 << 5
    SINGLE_STEP_COMPLETE = 1 << 6
    ERROR_IN_TRAP = 1 << 8
    POISON_DATA = 1 << 12
    ECC_SEC_ERROR = 1 << 29
    ECC_DED_ERROR = 1 << 30
    TIMEOUT = 1 << 31


IGNORED_FOR_LOCKDOWN = GlobalEsr.BPT_INT | GlobalEsr.BPT_PAUSE | GlobalEsr.SINGLE_STEP_COMPLETE
"""Events for which a driver does not lock the SM down (nvgpu r28)."""


@dataclass(frozen=True, slots=True)
class GlobalErrorRow:
    """What is known of one bit of HWW_GLOBAL_ESR."""

    flag: GlobalEsr
    meaning: str
    families: tuple[Family, ...]
    certainty: Certainty
    look_at: str
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The nouveau/nvgpu name."""
        return str(self.flag.name)

    @property
    def bit(self) -> int:
        """Bit number."""
        return int(self.flag).bit_length() - 1


def _row(block: TableBlock) -> GlobalErrorRow:
    head = block.head
    meaning, look_at = (line.plain for line in block.body)
    return GlobalErrorRow(
        GlobalEsr[head.words[0]],
        meaning,
        head.families,
        head.certainty,
        look_at,
        head.names("aka"),
    )


GLOBAL_ERRORS: tuple[GlobalErrorRow, ...] = tuple(map(_row, blocks("global_errors")))

_GLOBAL_BY_NAME = {n: row for row in GLOBAL_ERRORS for n in (row.name, *row.aliases)}


def global_error(name: str) -> GlobalErrorRow | None:
    """The row of a global error bit's name or alias, any case."""
    return _GLOBAL_BY_NAME.get(name.strip().upper())


def global_bit_names(word: int) -> list[str]:
    """Names of the set bits of a HWW_GLOBAL_ESR word, lowest first; unnamed ones as `BIT_n`."""
    names = {row.bit: row.name for row in GLOBAL_ERRORS}
    return [names.get(n, f"BIT_{n}") for n in range(word.bit_length()) if word >> n & 1]


def global_error_of_text(text: str) -> GlobalErrorRow | None:
    """The row a log's wording such as "Physical Multiple Warp Errors" names."""
    words = "_".join("".join(c if c.isalnum() else " " for c in text.upper()).split()) + "_"
    known = sorted(_GLOBAL_BY_NAME, key=len, reverse=True)
    name = next((n for n in known if words.startswith(n + "_")), None)
    return _GLOBAL_BY_NAME[name] if name is not None else None
