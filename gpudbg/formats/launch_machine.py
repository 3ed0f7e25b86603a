"""What a launch table says of the machine beyond its size: trap handler and special registers.

[trap]
handler = "handler.sass"         # .sass, cubin or raw words; relative to the table
entry = "trap_handler"           # its function, where the file has several
argument = 7                     # a number the handler finds at c[0x11][0x20]
options = { precision = "imprecise", skid = 2 }      # `gpudbg.sm.trap.options.TrapOptions`

[special]
shader_type = "pixel"            # default "compute"; decides which registers read zero
coverage = [0xffff00ff]          # of a pixel shader: covered lanes, a mask per warp, repeated
swept = ["0.1", "1.0"]           # GPC.TPC places without an SM: virtual SM numbers skip them
tpcs_per_gpc = 4
max_warps = 32                   # throttle: warps and CTAs that an SM takes at once
max_ctas = 8
machine_id = 0x1234
affinity = [3, 0, 0, 0]          # default: the GPC's number, 0, 0, 0
task_id = 5
queue = { increment = 4, index = 100, address = 0x1000, entry_bytes = 64 }
prim_type = 4                    # and the other fields of `SpecialSetup`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError

SHADER_TYPES = ("vertex_a", "vertex_b", "tess_init", "tess", "geometry", "pixel", "compute")
"""Shader types; the position is what SM_SHADER_TYPE reads.

The first six are numbered as the methods that bind shaders number them (*inferred*); compute's
number is *modelled*.
"""
TPC_PLACES = 8
"""TPCs that a GPC's address range has room for."""
GPC_PLACES = 16
_U32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class QueueSetup:
    """A launch from a GPU work creation queue: what the circular queue registers read.

    Attributes:
        increment: entries of one CTA, 1 to 256.
        index: entry of the first CTA.
        address: device address of entry 0.
        entry_bytes: size of an entry.
    """

    increment: int = 1
    index: int = 0
    address: int = 0
    entry_bytes: int = 64


@dataclass(frozen=True, slots=True)
class SpecialSetup:
    """What special registers show that no program and no launch size decides.

    Attributes:
        shader_type: one of `SHADER_TYPES`.
        coverage: lanes of a pixel shader's warps that are covered pixels, a mask per warp of the
            grid, repeated; () is all.  The others are helper pixels: they update no surface.
        swept: (GPC, TPC) places without an SM.
        tpcs_per_gpc: TPC places of a GPC.
        max_warps, max_ctas: most on an SM at once; None is the architecture's.
        machine_id: SR_MACHINE_ID_0.
        affinity: bytes of SR_AFFINITY; None is the GPC's number and zeros.
        task_id: SR_HwTaskId; None is the launch's number, modulo 32.
        queue: circular queue, or None for a plain grid.
        prim_type, invocation_id, y_direction, kill_mask, vertices, wscale_xy, wscale_z: what the
            graphics registers read.
        ticket: SR_ORDERING_TICKET.
        cbe_address, cbe_enable: the direct CBE write registers.
    """

    shader_type: str = "compute"
    coverage: tuple[int, ...] = ()
    swept: tuple[tuple[int, int], ...] = ()
    tpcs_per_gpc: int = 4
    max_warps: int | None = None
    max_ctas: int | None = None
    machine_id: int = 0
    affinity: tuple[int, int, int, int] | None = None
    task_id: int | None = None
    queue: QueueSetup | None = None
    prim_type: int = 0
    invocation_id: int = 0
    y_direction: float = 1.0
    kill_mask: int = 0
    vertices: int = 0
    wscale_xy: float = 1.0
    wscale_z: float = 1.0
    ticket: int = 0
    cbe_address: int = 0
    cbe_enable: bool = False

    def places(self, num_sms: int) -> tuple[int, ...]:
        """Physical number (GPC * 8 + TPC) of each virtual SM, by ascending place.

        Beyond the places that registers have addresses for, numbers go on without holes.
        """
        gone = set(self.swept)
        found = [
            gpc * TPC_PLACES + tpc
            for gpc in range(GPC_PLACES)
            for tpc in range(self.tpcs_per_gpc)
            if (gpc, tpc) not in gone
        ]
        beyond = GPC_PLACES * TPC_PLACES
        found += range(beyond, beyond + max(0, num_sms - len(found)))
        return tuple(found[:num_sms])


@dataclass(frozen=True, slots=True)
class TrapSpec:
    """The trap handler of a launch.

    Attributes:
        handler: path of its file, or None.
        entry: its function, or None for the only one.
        argument: number at c[0x11][0x20].
        options: trap options by name.
    """

    handler: str | None = None
    entry: str | None = None
    argument: int = 0
    options: Mapping[str, str | int] = field(default_factory=dict)


TRAP_KEYS = tuple(f.name for f in fields(TrapSpec))
SPECIAL_KEYS = tuple(f.name for f in fields(SpecialSetup))
QUEUE_KEYS = tuple(f.name for f in fields(QueueSetup))
_LIMITS: dict[str, tuple[int, int]] = {
    "tpcs_per_gpc": (1, TPC_PLACES),
    "max_warps": (1, 64),
    "max_ctas": (1, 32),
    "machine_id": (0, _U32),
    "task_id": (0, 31),
    "prim_type": (0, 0x3FFF),
    "invocation_id": (0, 31),
    "kill_mask": (0, _U32),
    "vertices": (0, 63),
    "ticket": (0, _U32),
    "cbe_address": (0, (1 << 40) - 1),
    "increment": (1, 256),
    "index": (0, (1 << 24) - 1),
    "address": (0, (1 << 40) - 1),
    "entry_bytes": (1, 1 << 20),
    "argument": (0, _U32),
}
_FLOATS = ("y_direction", "wscale_xy", "wscale_z")


def _integer(key: str, value: object) -> int:
    low, high = _LIMITS[key]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"'{key}' is {value!r}, must be an integer {low} to {high}")
    return value


def _known(table: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in keys:
            raise UsageError(f"unknown key '{key}' in {where}", "known: " + ", ".join(keys))


def make_trap(table: Mapping[str, Any], folder: str = "") -> TrapSpec:
    """[trap]; relative paths start at `folder`.

    Raises:
        UsageError: an unknown key or a value of the wrong kind.
    """
    from pathlib import Path

    _known(table, TRAP_KEYS, "[trap]")
    for key in ("handler", "entry"):
        if not isinstance(table.get(key, ""), str):
            raise UsageError(f"'{key}' must be text, not {table[key]!r}")
    options = table.get("options", {})
    if not isinstance(options, Mapping) or not all(
        isinstance(v, str | int) and not isinstance(v, bool) for v in options.values()
    ):
        raise UsageError("'options' must be a table of texts and integers")
    handler = table.get("handler")
    return TrapSpec(
        str(Path(folder) / handler) if handler else None,
        table.get("entry"),
        _integer("argument", table.get("argument", 0)),
        dict(options),
    )


def make_special(table: Mapping[str, Any]) -> SpecialSetup:
    """[special].

    Raises:
        UsageError: an unknown key or a value out of its range.
    """
    _known(table, SPECIAL_KEYS, "[special]")
    made: dict[str, Any] = {}
    for key, value in table.items():
        if key in _LIMITS:
            made[key] = _integer(key, value)
        elif key in _FLOATS:
            made[key] = _float(key, value)
        else:
            made[key] = _OTHERS[key](value)
    return SpecialSetup(**made)


def special_table(setup: SpecialSetup) -> dict[str, Any]:
    """[special] as `make_special` reads it."""
    usual, table = SpecialSetup(), dict[str, Any]()
    for key in SPECIAL_KEYS:
        value = getattr(setup, key)
        if value == getattr(usual, key):
            continue
        if isinstance(value, QueueSetup):
            value = {name: getattr(value, name) for name in QUEUE_KEYS}
        elif key == "swept":
            value = [f"{gpc}.{tpc}" for gpc, tpc in value]
        table[key] = value
    return table


def _float(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"'{key}' must be a number, not {value!r}")
    return float(value)


def _shader(value: object) -> str:
    if value not in SHADER_TYPES:
        raise UsageError(f"unknown shader type {value!r}", "known: " + ", ".join(SHADER_TYPES))
    return str(value)


def _coverage(value: object) -> tuple[int, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    found = [v for v in items if isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= _U32]
    if not found or len(found) != len(items):
        raise UsageError(f"'coverage' is a lane mask or a list of them, not {value!r}")
    return tuple(found)


def _swept(value: object) -> tuple[tuple[int, int], ...]:
    items = value if isinstance(value, list | tuple) else [value]
    found = []
    for item in items:
        gpc, dot, tpc = str(item).partition(".")
        if not (dot and gpc.isdecimal() and tpc.isdecimal() and int(tpc) < TPC_PLACES):
            raise UsageError(f"'swept' lists places as \"GPC.TPC\", not {item!r}")
        found.append((int(gpc), int(tpc)))
    return tuple(found)


def _affinity(value: object) -> tuple[int, ...]:
    if isinstance(value, list | tuple) and len(value) == 4:
        ints = [v for v in value if isinstance(v, int) and 0 <= v <= 255]
        if len(ints) == 4:
            return tuple(ints)
    raise UsageError(f"'affinity' must be four bytes, not {value!r}")


def _queue(value: object) -> QueueSetup:
    if not isinstance(value, Mapping):
        raise UsageError(f"'queue' must be a table, not {value!r}")
    _known(value, QUEUE_KEYS, "queue")
    return QueueSetup(**{k: _integer(k, v) for k, v in value.items()})


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"'cbe_enable' must be true or false, not {value!r}")
    return value


_OTHERS = {
    "coverage": _coverage,
    "shader_type": _shader,
    "swept": _swept,
    "affinity": _affinity,
    "queue": _queue,
    "cbe_enable": _flag,
}
