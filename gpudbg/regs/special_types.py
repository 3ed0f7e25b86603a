"""Types of the special register table and the names the disassembler gives the numbers."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from gpudbg.dataclass import dataclass
from gpudbg.regs.words import BitRow, implemented_mask

SR_COUNT = 256
DEFAULT_SPA = "5.0"
_SPA_53 = (5, 3)


class RegisterScope(StrEnum):
    """Over what a register's value is the same."""

    THREAD = "thread"
    WARP = "warp"
    CTA = "CTA"
    SM = "SM"
    GLOBAL = "global"


class Shaders(StrEnum):
    """Shader types in which a register is valid; it reads zero in the others."""

    ALL = "every shader type"
    COMPUTE = "compute"
    PIXEL = "pixel"
    VTG = "vertex, tessellation and geometry"
    VSB_TI = "vertex-B and tessellation-init"
    GRAPHICS = "every shader type except compute"


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """One special register.

    Attributes:
        number: SR number, 0..255.
        name: the table's name (mixed case), `SR<n>` where it names none.
        scope: None for reserved numbers.
        coupled: CS2R returns the value (otherwise 0).
        shaders: None for reserved numbers.
        rows: the fields tiling the 32-bit word from SPA 5.3 on.
        rows_before_53: the fields before SPA 5.3 where they differ.
        reserved: the table gives the number no register; it reads zero.
        constant: the value where the table fixes it.
        note: counting rules, doubts about the source, disassembler names of reserved numbers.
        aliases: other spellings of the name in the source.
    """

    number: int
    name: str
    scope: RegisterScope | None
    coupled: bool
    shaders: Shaders | None
    rows: tuple[BitRow, ...]
    rows_before_53: tuple[BitRow, ...] | None = None
    reserved: bool = False
    constant: int | None = None
    note: str = ""
    aliases: tuple[str, ...] = ()

    def fields(self, spa: str = DEFAULT_SPA) -> tuple[BitRow, ...]:
        """The fields of the word under an SPA version such as "5.0", "5.3", "6.1"."""
        if self.rows_before_53 is not None and parse_spa(spa) < _SPA_53:
            return self.rows_before_53
        return self.rows

    def mask(self, spa: str = DEFAULT_SPA) -> int:
        """Bits that can be non-zero."""
        return implemented_mask(self.fields(spa))

    @property
    def nvdisasm(self) -> str:
        """The name nvdisasm prints on sm_50; empty where it prints the plain number."""
        return DISASSEMBLER_NAMES.get(self.number, "")

    def disassembler_name(self, arch: str = "sm_50") -> str:
        """What nvdisasm prints for this number on `arch` (sm_50 ... sm_62)."""
        return disassembler_name(self.number, arch)


@lru_cache(256)
def parse_spa(spa: str) -> tuple[int, int]:
    """ "5.3" or "sm_53" as (5, 3), "sm_120a" as (12, 0).

    Raises:
        ValueError: neither form.
    """
    found = _SPA.fullmatch(spa.lower().removeprefix("spa").strip())
    if found is None:
        raise ValueError(f"{spa!r} is no SPA version (5.0, 5.2, 5.3, 6.0 ... or sm_50 ...)")
    return int(found[1]), int(found[2])


_SPA = re.compile(r"(?:sm_)?(1?[0-9])\.?([0-9])[af]?", re.ASCII)


# --- names the disassembler prints -----------------------------------------------------------

_DISASSEMBLER_RUNS: tuple[tuple[int, str], ...] = (
    (0, "SR_LANEID SR_CLOCK SR_VIRTCFG SR_VIRTID"),
    (4, "SR_PM0 SR_PM1 SR_PM2 SR_PM3 SR_PM4 SR_PM5 SR_PM6 SR_PM7"),
    (16, "SR_PRIM_TYPE SR_INVOCATION_ID SR_Y_DIRECTION SR_THREAD_KILL SM_SHADER_TYPE"),
    (21, "SR_DIRECTCBEWRITEADDRESSLOW SR_DIRECTCBEWRITEADDRESSHIGH SR_DIRECTCBEWRITEENABLED"),
    (24, "SR_MACHINE_ID_0 SR_MACHINE_ID_1 SR_MACHINE_ID_2 SR_MACHINE_ID_3"),
    (28, "SR_AFFINITY SR_INVOCATION_INFO SR_WSCALEFACTOR_XY SR_WSCALEFACTOR_Z"),
    (32, "SR_TID SR_TID.X SR_TID.Y SR_TID.Z SR_CTA_PARAM SR_CTAID.X SR_CTAID.Y SR_CTAID.Z"),
    (40, "SR_NTID SR_CirQueueIncrMinusOne SR_NLATC"),
    (48, "SR_SWINLO SR_SWINSZ SR_SMEMSZ SR_SMEMBANKS SR_LWINLO SR_LWINSZ SR_LMEMLOSZ"),
    (55, "SR_LMEMHIOFF SR_EQMASK SR_LTMASK SR_LEMASK SR_GTMASK SR_GEMASK SR_REGALLOC SR_CTXADDR"),
    (64, "SR_GLOBALERRORSTATUS SR65 SR_WARPERRORSTATUS SR_WARPERRORSTATUSCLEAR"),
    (72, "SR_PM_HI0 SR_PM_HI1 SR_PM_HI2 SR_PM_HI3 SR_PM_HI4 SR_PM_HI5 SR_PM_HI6 SR_PM_HI7"),
    (80, "SR_CLOCKLO SR_CLOCKHI SR_GLOBALTIMERLO SR_GLOBALTIMERHI"),
    (96, "SR_HWTASKID SR_CIRCULARQUEUEENTRYINDEX SR_CIRCULARQUEUEENTRYADDRESSLOW"),
    (99, "SR_CIRCULARQUEUEENTRYADDRESSHIGH"),
)
DISASSEMBLER_NAMES: dict[int, str] = {
    first + i: name
    for first, names in _DISASSEMBLER_RUNS
    for i, name in enumerate(names.split())
    if name != f"SR{first + i}"
}
"""Names on SM50; numbers without one print as `SR<n>`."""

DISASSEMBLER_NAMES_SINCE: tuple[tuple[tuple[int, int], dict[int, str]], ...] = (
    ((5, 2), {15: "SR_ORDERING_TICKET"}),
    (
        (6, 0),
        {
            44: "SR_SM_SPA_VERSION",
            45: "SR_MULTIPASSSHADERINFO",
            46: "SR_LWINHI",
            47: "SR_SWINHI",
            62: "SR_BARRIERALLOC",
        },
    ),
)
"""Names that differ from SM50's, by the first version that has them."""


def disassembler_name(number: int, arch: str = "sm_50") -> str:
    """What nvdisasm prints for SR `number` on `arch`."""
    name = DISASSEMBLER_NAMES.get(number, f"SR{number}")
    version = parse_spa(arch)
    for since, names in DISASSEMBLER_NAMES_SINCE:
        if version >= since:
            name = names.get(number, name)
    return name
