"""The machine driven by method writes: two objects, one channel's const buffers, one memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpudbg.errors import ModelGap

from .constbuf import ConstSpaces
from .errors import DataError
from .globalmem import GlobalSpace, check_limit
from .hierarchy import Chip, Hierarchy
from .launch import RUN_ALL_BLOCKS, TeslaLaunch, WarpMemory
from .mangle import LocalLayout, StackLayout, halfwarps_of, size_of_log, stack_entries
from .memory import WordMemory
from .methods import BY_OFFSET, Method
from .stack import WarpStack

#: Methods after which the block's shape needs a new latch.
SHAPE = frozenset({"BLOCKDIM_XY", "BLOCKDIM_Z", "THREADS_PER_BLOCK", "LANES32_ENABLE"})
INITIAL = {("turing", "UNK0384", 0): RUN_ALL_BLOCKS}
CODE_PROGRAMS = {"tesla": ("VP", "GP", "FP"), "turing": ("CP",)}


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """What one method write did.

    Args:
        obj, method, index, value: the write.
        effect: one line.
        error: the DATA_ERROR, when the machine refused it; then nothing changed.
        unit: the part of the state it touched.
        launch: the grid that started, for LAUNCH.
    """

    obj: str
    offset: int
    method: Method
    index: int
    value: int
    effect: str
    error: DataError | None = None
    launch: TeslaLaunch | None = None

    @property
    def unit(self) -> str:
        """`OBJECT.UNIT`, with the index for a global space."""
        tail = f"[{self.index}]" if self.method.unit == "global" else ""
        return f"{self.obj}.{self.method.unit}{tail}"

    def to_json(self) -> dict[str, Any]:
        """Everything by name."""
        error = self.error
        return {
            "object": self.obj,
            "offset": self.offset,
            "offset_hex": f"0x{self.offset:04x}",
            "method": self.method.label(self.index),
            "value": self.value,
            "value_hex": f"0x{self.value:08x}",
            "effect": self.effect,
            "error": None
            if error is None
            else {"code": error.code, "name": error.name, "why": error.why},
        }


@dataclass(slots=True)
class TeslaMachine:
    """State of a chip as methods set it.

    Args:
        chip: which chip.
        units: its active TPs and MPs.
        memory: video memory.
        consts: const buffers and their cache, shared by both objects.
        values: (object, method, index) -> last accepted value.
        latched: whether the block's shape was latched since it last changed.
        stacks: (TP, MP, warp) -> the warp's stack, once it was used.
    """

    chip: Chip
    units: Hierarchy
    memory: WordMemory = field(default_factory=WordMemory)
    consts: ConstSpaces = field(init=False)
    values: dict[tuple[str, str, int], int] = field(default_factory=lambda: dict(INITIAL))
    latched: bool = False
    stacks: dict[tuple[int, int, int], WarpStack] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.consts = ConstSpaces(self.memory)

    def get(self, obj: str, name: str, index: int = 0) -> int:
        """The last accepted value of a method; 0 before the first write."""
        return self.values.get((obj, name, index), 0)

    def address(self, obj: str, name: str, index: int = 0) -> int:
        """A 64-bit address set by a HIGH and a LOW method."""
        return self.get(obj, f"{name}_HIGH", index) << 32 | self.get(obj, f"{name}_LOW", index)

    def write(self, obj: str, offset: int, value: int) -> MethodOutcome:
        """Write one method.

        Raises:
            ModelGap: the model does not know the method.
        """
        found = BY_OFFSET[obj].get(offset)
        if found is None:
            raise ModelGap(
                f"method 0x{offset:04x} of the {obj} object = 0x{value:08x} is not in the model"
            )
        row, index = found
        launch = None
        try:
            row.validate(obj, value)
            effect = _ACTIONS.get(row.name, _describe)(self, obj, row, index, value)
            if row.name == "LAUNCH":
                launch = self.launch_config()
        except DataError as error:
            return MethodOutcome(obj, offset, row, index, value, "refused", error)
        self.values[obj, row.name, index] = value
        if row.name in SHAPE:
            self.latched = False
        return MethodOutcome(obj, offset, row, index, value, effect, None, launch)

    def launch_config(self) -> TeslaLaunch:
        """What a LAUNCH would look at now."""

        def get(name: str, index: int = 0) -> int:
            return self.get("turing", name, index)

        grid, block = get("GRIDDIM"), get("BLOCKDIM_XY")
        count = get("USER_PARAM_COUNT") >> 8
        return TeslaLaunch(
            grid=(grid & 0xFFFF, grid >> 16),
            block=(block & 0xFFFF, block >> 16, get("BLOCKDIM_Z")),
            threads=get("THREADS_PER_BLOCK") & 0xFFFF,
            lanes32=get("LANES32_ENABLE"),
            warp_halves=get("WARP_HALVES"),
            latched=self.latched,
            shared_size=get("SHARED_SIZE"),
            grid_id=get("GRIDID"),
            params=tuple(get("USER_PARAM", i) for i in range(count)),
            registers=get("CP_REG_ALLOC_TEMP"),
            local=self._warp_memory("turing", "LOCAL"),
            stack=self._warp_memory("turing", "STACK"),
            run_mode=get("UNK0384"),
        )

    def _warp_memory(self, obj: str, name: str) -> WarpMemory:
        return WarpMemory(
            self.get(obj, f"{name}_SIZE_LOG"),
            self.get(obj, f"{name}_WARPS_LOG_ALLOC"),
            self.get(obj, f"{name}_WARPS_NO_CLAMP"),
        )

    def global_space(self, index: int) -> GlobalSpace:
        """Space g`index` as set."""
        return GlobalSpace(
            self.address("turing", "GLOBAL_BASE", index),
            self.get("turing", "GLOBAL_PITCH", index),
            self.get("turing", "GLOBAL_LIMIT", index),
            self.get("turing", "GLOBAL_MODE", index),
        )

    def local_layout(self, obj: str) -> LocalLayout:
        """Local memory of an object's programs; the 3D object's halves default to 2."""
        halves = self.get(obj, "WARP_HALVES")
        if obj == "tesla":
            halves = halves or 2
        memory = self._warp_memory(obj, "LOCAL")
        return LocalLayout.make(
            self.chip,
            self.units,
            halfwarps=halfwarps_of(halves, CODE_PROGRAMS[obj][0]),
            log_alloc=memory.log_alloc,
            no_clamp=memory.no_clamp,
        )

    def stack_layout(self, obj: str) -> StackLayout:
        """Stack memory of an object's programs."""
        memory = self._warp_memory(obj, "STACK")
        return StackLayout.make(
            self.chip, self.units, log_alloc=memory.log_alloc, no_clamp=memory.no_clamp
        )

    def unit_state(self, obj: str, unit: str, index: int = 0) -> dict[str, Any]:
        """One part of the state by name."""
        return _UNITS[unit](self, obj, index)

    def to_json(self) -> dict[str, Any]:
        """The whole state: chip, hierarchy, and every unit that a method has touched."""
        data: dict[str, Any] = {"hierarchy": self.units.to_json(self.chip)}
        touched: dict[str, Any] = {}
        for obj, name, index in sorted(self.values):
            row = _ROWS[name]
            key = f"{obj}.{row.unit}" + (f"[{index}]" if row.unit == "global" else "")
            if key not in touched:
                touched[key] = self.unit_state(obj, row.unit, index)
        return data | touched


Action = Callable[[TeslaMachine, str, Method, int, int], str]


def _describe(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    return row.describe(value)


def _cb_addr(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    return machine.consts.set_upload(value)


def _cb_data(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    return machine.consts.data(value)


def _cb_def_set(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    return machine.consts.define(machine.address(obj, "CB_DEF_ADDRESS"), value)


def _bind(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    return machine.consts.bind(value, "CP" if obj == "turing" else None)


def _flush(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    if value:
        return f"accepted; what {value} does is not known, nothing is flushed"
    return machine.consts.flush()


def _latch(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    machine.latched = value == 1
    return "block dimensions latched" if value else "latch cleared"


def _launch(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    config = machine.launch_config()
    config.check(machine.chip)
    return (
        f"{config.block_count} blocks of {config.threads} threads in {config.warps} warps of "
        f"{config.lanes} lanes start"
    )


def _global_limit(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    check_limit(value, machine.get(obj, "GLOBAL_MODE", index))
    return row.describe(value)


def _global_mode(machine: TeslaMachine, obj: str, row: Method, index: int, value: int) -> str:
    check_limit(machine.get(obj, "GLOBAL_LIMIT", index), value)
    return row.describe(value)


_ACTIONS: dict[str, Action] = {
    "GLOBAL_LIMIT": _global_limit,
    "GLOBAL_MODE": _global_mode,
    "CB_ADDR": _cb_addr,
    "CB_DATA": _cb_data,
    "CB_DEF_SET": _cb_def_set,
    "SET_PROGRAM_CB": _bind,
    "CODE_CB_FLUSH": _flush,
    "BLOCKDIM_LATCH": _latch,
    "LAUNCH": _launch,
}


def _objects_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    names = ("DMA_LOCAL", "DMA_STACK", "DMA_CODE_CB", "DMA_GLOBAL")
    return {name.lower(): machine.get(obj, name) for name in names if _ROWS[name].offset(obj)}


def _code_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    def program(name: str) -> dict[str, int]:
        data = {
            "address": machine.address(obj, f"{name}_ADDRESS"),
            "start": machine.get(obj, f"{name}_START_ID"),
            "registers": machine.get(obj, f"{name}_REG_ALLOC_TEMP"),
        }
        if name in ("VP", "GP"):
            data["outputs"] = machine.get(obj, f"{name}_REG_ALLOC_RESULT")
        return data

    return {name: program(name) for name in CODE_PROGRAMS[obj]}


def _const_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    return {"def_address": machine.address(obj, "CB_DEF_ADDRESS"), **machine.consts.to_json()}


def _local_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    layout = machine.local_layout(obj)
    size_log = machine.get(obj, "LOCAL_SIZE_LOG")
    return {
        "address": machine.address(obj, "LOCAL_ADDRESS"),
        "local_size_log": size_log,
        "bytes_per_thread": size_of_log(size_log, 16),
        "allocation_bytes": layout.size(size_log),
        "warp_halves_method": machine.get(obj, "WARP_HALVES"),
        "halfwarps": layout.halfwarps,
        "local_warps_log_alloc": layout.group.log_alloc,
        "no_clamp": layout.group.no_clamp,
        "warps": layout.group.warp_slots,
    }


def _stack_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    layout = machine.stack_layout(obj)
    size_log = machine.get(obj, "STACK_SIZE_LOG")
    data = {
        "address": machine.address(obj, "STACK_ADDRESS"),
        "stack_size_log": size_log,
        "entries_per_warp": stack_entries(size_log),
        "allocation_bytes": layout.size(size_log),
        "stack_warps_log_alloc": layout.group.log_alloc,
        "no_clamp": layout.group.no_clamp,
        "warps": layout.group.warp_slots,
    }
    if obj == "turing":
        data["call_limit_log"] = machine.get(obj, "CALL_LIMIT_LOG")
    return data


def _launch_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    config = machine.launch_config()
    data = config.to_json() | {"latched": config.latched}
    try:
        config.check(machine.chip)
        data["launch_error"] = None
    except DataError as error:
        data["launch_error"] = f"0x{error.code:02x} {error.name}"
    return data


def _global_unit(machine: TeslaMachine, obj: str, index: int) -> dict[str, Any]:
    return machine.global_space(index).to_json()


_ROWS = {row.name: row for table in BY_OFFSET.values() for row, _ in table.values()}
_UNITS: dict[str, Callable[[TeslaMachine, str, int], dict[str, Any]]] = {
    "objects": _objects_unit,
    "code": _code_unit,
    "const": _const_unit,
    "local": _local_unit,
    "stack": _stack_unit,
    "launch": _launch_unit,
    "global": _global_unit,
}
