"""The methods of the two objects: offsets, fields, and what values they accept.

`tesla` is the 3D object, `turing` the compute object, as the NV50 CUDA notes call them.  One
row a method; a method both objects have is one row with two offsets.  Rules the notes do not
state come from later public lists of the same methods.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gpudbg.bits import Field
from gpudbg.errors import UsageError

from . import constbuf, globalmem
from .errors import DataError
from .mangle import VALID_LOG_ALLOC

OBJECTS = ("tesla", "turing")
#: Class ids whose low 16 bits name an object when it is bound to a subchannel.
CLASSES = {
    0x5097: "tesla",
    0x8297: "tesla",
    0x8397: "tesla",
    0x8597: "tesla",
    0x8697: "tesla",
    0x50C0: "turing",
    0x85C0: "turing",
}
WORD = Field(31, 0)


@dataclass(frozen=True, slots=True)
class MethodField:
    """A field of a method's value and the values it accepts.

    Args:
        name: as shown.
        bits: where.
        low, high: accepted range; high None is all that fits.
        multiple: the value must be divisible by this.
        choices: when given, the only accepted values.
        error: the DATA_ERROR of a value that is not accepted.
    """

    name: str
    bits: Field = WORD
    low: int = 0
    high: int | None = None
    multiple: int = 1
    choices: tuple[int, ...] | None = None
    error: str = "INVALID_VALUE"

    def check(self, method: str, value: int) -> None:
        """Raise DataError unless the field of `value` is accepted."""
        held = self.bits.get(value)
        where = f"{method} {self.name}" if self.name else method
        if self.choices is not None and held not in self.choices:
            hint = "; use 7 if you mean 5" if held == 5 and 7 in self.choices else ""
            allowed = ", ".join(map(str, self.choices))
            raise DataError(self.error, f"{where} 0x{held:x} is none of {allowed}{hint}")
        if held < self.low or (self.high is not None and held > self.high):
            top = f"0x{self.high:x}" if self.high is not None else "..."
            raise DataError(self.error, f"{where} 0x{held:x} is not 0x{self.low:x} to {top}")
        if held % self.multiple:
            raise DataError(
                self.error, f"{where} 0x{held:x} is not a multiple of 0x{self.multiple:x}"
            )


@dataclass(frozen=True, slots=True)
class Method:
    """One method, or an array of them.

    Args:
        name: as in the notes.
        tesla, turing: offset in each object, or None.
        unit: the part of the state it belongs to.
        fields: its fields; other bits must be 0.
        count, stride: array length and distance in bytes.
        check: a rule beyond the fields'.
        aliases: later names.
    """

    name: str
    tesla: int | None
    turing: int | None
    unit: str
    fields: tuple[MethodField, ...] = (MethodField(""),)
    count: int = 1
    stride: int = 4
    check: Callable[[int], None] | None = None
    aliases: tuple[str, ...] = ()

    def offset(self, obj: str) -> int | None:
        """Offset of the first element in an object."""
        return self.tesla if obj == "tesla" else self.turing

    def validate(self, obj: str, value: int) -> None:
        """Raise DataError when the object refuses the value."""
        known = 0
        for field in self.fields:
            known |= field.bits.mask
        if value & ~known:
            raise DataError("INVALID_BITFIELD", f"{self.name} 0x{value:x} has unknown bits set")
        for field in self.fields:
            field.check(self.name, value)
        if self.check is not None:
            self.check(value)
        if obj == "tesla" and self.name == "WARP_HALVES" and value == 0:
            raise DataError("INVALID_ENUM", "WARP_HALVES 0x0 is none of 1, 2")

    def describe(self, value: int) -> str:
        """The fields of a value as text."""
        if len(self.fields) == 1 and not self.fields[0].name:
            return f"0x{value:x}"
        return ", ".join(f"{f.name} 0x{f.bits.get(value):x}" for f in self.fields)

    def label(self, index: int) -> str:
        """The name with its index when it is an array."""
        return f"{self.name}[{index}]" if self.count > 1 else self.name


def _param_count(value: int) -> None:
    low, count = value & 0xFF, value >> 8
    if low and low >= count:
        raise DataError(
            "INVALID_VALUE", f"USER_PARAM_COUNT low byte {low} is not below the count {count}"
        )


def _word(name: str, tesla: int | None, turing: int | None, unit: str) -> Method:
    return Method(name, tesla, turing, unit)


def _one(name: str, tesla: int | None, turing: int | None, unit: str, field: MethodField) -> Method:
    return Method(name, tesla, turing, unit, (field,))


_FLAG = MethodField("", high=1)
_LOG_ALLOC = MethodField("", choices=VALID_LOG_ALLOC)
_SIZE_LOG = MethodField("", high=0xD)
_CODE = MethodField("", Field(31, 0), high=0xFFFFFF, multiple=4)
_REGISTERS = MethodField("", high=128)


def _program(name: str, base: int, low: int, start: int, temp: int) -> tuple[Method, ...]:
    def row(suffix: str, offset: int, field: MethodField) -> Method:
        tesla, turing = (None, offset) if name == "CP" else (offset, None)
        return Method(f"{name}_{suffix}", tesla, turing, "code", (field,))

    return (
        row("ADDRESS_HIGH", base, MethodField("")),
        row("ADDRESS_LOW", low, MethodField("")),
        row("START_ID", start, _CODE),
        row("REG_ALLOC_TEMP", temp, _REGISTERS),
    )


def _global(
    name: str, offset: int, check: Callable[[int], None] | None = None, alias: str = ""
) -> Method:
    return Method(
        f"GLOBAL_{name}",
        None,
        offset,
        "global",
        count=globalmem.SPACES,
        stride=0x20,
        check=check,
        aliases=(f"GLOBAL_{alias}",) if alias else (),
    )


METHODS: tuple[Method, ...] = (
    _word("NOP", 0x100, 0x100, "objects"),
    _word("DMA_LOCAL", 0x190, 0x1B8, "objects"),
    _word("DMA_STACK", 0x194, 0x1BC, "objects"),
    _word("DMA_CODE_CB", 0x198, 0x1C0, "objects"),
    _word("DMA_GLOBAL", None, 0x1A0, "objects"),
    *_program("VP", 0xF7C, 0xF80, 0x140C, 0x16B0),
    *_program("GP", 0xF70, 0xF74, 0x1410, 0x17A0),
    *_program("FP", 0xFA4, 0xFA8, 0x1414, 0x198C),
    *_program("CP", 0x210, 0x214, 0x3B4, 0x2C0),
    _one("VP_REG_ALLOC_RESULT", 0x16B8, None, "code", _REGISTERS),
    _one("GP_REG_ALLOC_RESULT", 0x17A8, None, "code", _REGISTERS),
    Method(
        "CODE_CB_FLUSH",
        0x1440,
        0x380,
        "const",
        (MethodField("", high=3),),
        aliases=("CB_FLUSH",),
    ),
    Method(
        "WARP_HALVES",
        0x19A0,
        0x3B8,
        "local",
        (MethodField("", choices=(0, 1, 2), error="INVALID_ENUM"),),
        aliases=("REG_MODE",),
    ),
    _word("STACK_ADDRESS_HIGH", 0xD94, 0x218, "stack"),
    _word("STACK_ADDRESS_LOW", 0xD98, 0x21C, "stack"),
    _one("STACK_SIZE_LOG", 0xD9C, 0x220, "stack", _SIZE_LOG),
    _one("STACK_WARPS_LOG_ALLOC", 0xF4C, 0x304, "stack", _LOG_ALLOC),
    _one("STACK_WARPS_NO_CLAMP", 0xF50, 0x308, "stack", _FLAG),
    _one("CALL_LIMIT_LOG", None, 0x224, "stack", MethodField("", choices=(*range(9), 0xF))),
    _word("LOCAL_ADDRESS_HIGH", 0x12D8, 0x294, "local"),
    _one("LOCAL_ADDRESS_LOW", 0x12DC, 0x298, "local", MethodField("", multiple=0x100)),
    _one("LOCAL_SIZE_LOG", 0x12E0, 0x29C, "local", _SIZE_LOG),
    _one("LOCAL_WARPS_LOG_ALLOC", 0xF44, 0x2FC, "local", _LOG_ALLOC),
    _one("LOCAL_WARPS_NO_CLAMP", 0xF48, 0x300, "local", _FLAG),
    Method(
        "CB_ADDR",
        0xF00,
        0x238,
        "const",
        (
            MethodField("buffer", constbuf.ADDR_BUFFER),
            MethodField("word offset", constbuf.ADDR_OFFSET),
        ),
    ),
    Method("CB_DATA", 0xF04, 0x23C, "const", count=16),
    _word("CB_DEF_ADDRESS_HIGH", 0x1280, 0x2A4, "const"),
    _word("CB_DEF_ADDRESS_LOW", 0x1284, 0x2A8, "const"),
    Method(
        "CB_DEF_SET",
        0x1288,
        0x2AC,
        "const",
        (
            MethodField("buffer", constbuf.DEF_BUFFER),
            MethodField("size", constbuf.DEF_SIZE, multiple=constbuf.SIZE_UNIT),
        ),
    ),
    Method(
        "SET_PROGRAM_CB",
        0x1694,
        0x3C8,
        "const",
        (
            MethodField("buffer", constbuf.BIND_BUFFER),
            MethodField("space", constbuf.BIND_SPACE),
            MethodField("program", constbuf.BIND_PROGRAM),
            MethodField("valid", constbuf.BIND_VALID),
        ),
    ),
    Method(
        "THREADS_PER_BLOCK",
        None,
        0x2B4,
        "launch",
        (MethodField("threads", Field(15, 0)), MethodField("barriers", Field(23, 16), high=16)),
        aliases=("BLOCK_ALLOC",),
    ),
    Method("LANES32_ENABLE", None, 0x2B8, "launch", (_FLAG,), aliases=("LANE_ENABLE",)),
    _one("BLOCKDIM_LATCH", None, 0x2F8, "launch", _FLAG),
    _one("LAUNCH", None, 0x368, "launch", MethodField("", high=0)),
    Method(
        "USER_PARAM_COUNT",
        None,
        0x374,
        "launch",
        (MethodField("low", Field(7, 0)), MethodField("count", Field(15, 8), high=64)),
        check=_param_count,
    ),
    _one("UNK0384", None, 0x384, "launch", MethodField("", high=0xFFFFFF)),
    _one("GRIDID", None, 0x388, "launch", MethodField("", Field(15, 0))),
    Method(
        "GRIDDIM",
        None,
        0x3A4,
        "launch",
        (MethodField("x", Field(15, 0)), MethodField("y", Field(31, 16))),
    ),
    _one("SHARED_SIZE", None, 0x3A8, "launch", MethodField("", high=0x4000, multiple=0x40)),
    Method(
        "BLOCKDIM_XY",
        None,
        0x3AC,
        "launch",
        (MethodField("x", Field(15, 0)), MethodField("y", Field(31, 16))),
    ),
    _one("BLOCKDIM_Z", None, 0x3B0, "launch", MethodField("", low=1, high=64)),
    _global("BASE_HIGH", 0x400, alias="ADDRESS_HIGH"),
    _global("BASE_LOW", 0x404, alias="ADDRESS_LOW"),
    _global("PITCH", 0x408, globalmem.check_pitch),
    _global("LIMIT", 0x40C),
    _global("MODE", 0x410, globalmem.check_mode),
    Method("USER_PARAM", None, 0x600, "launch", count=64),
)

BY_OFFSET: dict[str, dict[int, tuple[Method, int]]] = {
    obj: {
        start + index * row.stride: (row, index)
        for row in METHODS
        if (start := row.offset(obj)) is not None
        for index in range(row.count)
    }
    for obj in OBJECTS
}
BY_NAME: dict[str, Method] = {
    name: row for row in METHODS for name in (row.name, *row.aliases)
}  # fmt: skip
_NAME = re.compile(
    r"(?:(?P<obj>tesla|turing)\.)?(?:(?P<name>[A-Z][A-Z0-9_]*)(?:\[(?P<index>\w+)\])?"
    r"|0x(?P<offset>[0-9a-f]{1,4}))$",
    re.IGNORECASE,
)


def resolve(word: str, default: str) -> tuple[str, int]:
    """A method as users write it, to (object, offset).

    `NAME`, `NAME[i]` or `0xOFFSET`, with `tesla.` or `turing.` before it; without, the method
    goes to `default`, or to the only object that has it.

    Raises:
        UsageError: no such method, or an index outside its array.
    """
    found = _NAME.match(word)
    if found is None:
        raise UsageError(f"'{word[:60]}' is not a method", "NAME, NAME[i] or 0xOFFSET")
    obj = (found["obj"] or default).lower()
    if found["offset"]:
        return obj, int(found["offset"], 16)
    row = BY_NAME.get(found["name"].upper())
    if row is None:
        raise UsageError(f"no method '{found['name']}'", "gpudbg tesla methods lists them")
    start = row.offset(obj)
    if start is None and not found["obj"]:
        obj = "turing" if obj == "tesla" else "tesla"
        start = row.offset(obj)
    if start is None:
        raise UsageError(f"the {obj} object has no method {row.name}")
    return obj, start + _index(row, found["index"]) * row.stride


def _index(row: Method, word: str | None) -> int:
    if word is None:
        return 0
    try:
        index = int(word, 0)
    except ValueError:
        raise UsageError(f"{row.name}[{word}]: not an index") from None
    if not 0 <= index < row.count:
        raise UsageError(f"{row.name}[{word}] does not exist", f"0 to {row.count - 1}")
    return index
