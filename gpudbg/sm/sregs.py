"""Special registers as a running warp reads them: one row per register that has a value here.

Numbers, names, which are coupled to CS2R and in which shader types they are valid come from
`gpudbg.regs.special`; a register without a row reads zero, as unimplemented registers and those
of other shader types do.  SR_ClockLo counts the warp instructions issued
on the SM and the global timer those of the whole GPU (*modelled*: time is not).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np

from gpudbg.architectures import is_wide
from gpudbg.dataclass import dataclass
from gpudbg.formats.launch_machine import SHADER_TYPES, TPC_PLACES, SpecialSetup
from gpudbg.mem.lanes import FULL, LANE_IDS, U32
from gpudbg.mem.windows import WINDOW_BYTES, AddressLayout
from gpudbg.regs.special import SPECIAL_REGISTERS, Shaders, coupled_numbers
from gpudbg.sm.counters import Counters
from gpudbg.sm.engines.values import const32
from gpudbg.sm.record import virtual_id
from gpudbg.sm.state import Sm, WarpState
from gpudbg.sm.trap.unit import TrapUnit

WARP_SIZE = 32
WARP_SLOTS = 64
SHARED_BANKS = 32
MAX_TASKS = 32
IS_QUEUE = 1 << 31
TIMER_STEP = 32
"""Resolution of the global timer in nanoseconds (*documented*)."""


@dataclass(slots=True)
class Machine:
    """The state of the launch and the GPU that special registers read.

    Attributes:
        arch: "sm_50"...
        sms: all SMs.
        layout: address windows.
        shared_bytes: shared memory of a CTA.
        registers: registers allocated to a thread.
        barriers: barriers allocated to a CTA.
        threads: threads of a CTA.
        cta_slots: CTAs an SM takes at most.
        traps: status words.
        special: what no launch size decides.
        launch: number of the launch on its GPU.
        counters: performance counters, by SM.
    """

    arch: str
    sms: Sequence[Sm]
    layout: AddressLayout
    shared_bytes: int
    registers: int
    barriers: int
    threads: int
    cta_slots: int = 32
    traps: TrapUnit | None = None
    special: SpecialSetup = field(default_factory=SpecialSetup)
    launch: int = 0
    counters: Counters | None = None


Read = Callable[[Machine, Any, Any], "U32 | int"]


def clock(sm: Sm, warp: WarpState) -> int:
    """Instructions issued on the SM, the running warp's present quantum included."""
    return sm.clock_base + warp.executed


def _timer(m: Machine, warp: WarpState, sm: Sm) -> int:
    total = clock(sm, warp) + sum(other.issued for other in m.sms if other is not sm)
    return total & -TIMER_STEP


def _virt_cfg(m: Machine, warp: WarpState, sm: Sm) -> int:
    ctas = m.special.max_ctas or m.cta_slots
    upper, lower = ctas >> 4, ctas & 15
    return (
        WARP_SIZE
        | (m.special.max_warps or WARP_SLOTS) << 8
        | lower << 16
        | len(m.sms) << 20
        | upper << 29
    )


def _virt_id(m: Machine, warp: WarpState, sm: Sm) -> U32:
    return LANE_IDS | np.uint32(virtual_id(warp.sm, warp.cta.slot, warp.slot) & FULL)


def _tid(m: Machine, warp: WarpState, sm: Sm) -> U32:
    x, y, z = warp.tid
    packed: U32 = x | y << 16 | z << 26
    return packed


def _live_threads(m: Machine, warp: WarpState, sm: Sm) -> int:
    gone = len(warp.cta.warps) - len(warp.cta.live)
    return max(0, m.threads - WARP_SIZE * gone)


def _float_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def _affinity(m: Machine, warp: WarpState, sm: Sm) -> int:
    given = m.special.affinity
    if given is None:
        return sm.trap.physical // TPC_PLACES & 0xFF
    return sum(byte << 8 * n for n, byte in enumerate(given))


def _queue_entry(m: Machine, warp: WarpState) -> int | None:
    """Entry of the CTA in the circular queue; None when the launch is a plain grid."""
    queue = m.special.queue
    return None if queue is None else queue.index + warp.cta.number * queue.increment


def _queue_increment(m: Machine, warp: WarpState, sm: Sm) -> int:
    queue = m.special.queue
    return 0 if queue is None else IS_QUEUE | (queue.increment - 1) & 0xFF


def _queue_index(m: Machine, warp: WarpState, sm: Sm) -> int:
    return (_queue_entry(m, warp) or 0) & 0xFF_FFFF


def _queue_address(m: Machine, warp: WarpState) -> int:
    entry, queue = _queue_entry(m, warp), m.special.queue
    return 0 if entry is None or queue is None else queue.address + entry * queue.entry_bytes


def _cbe(m: Machine) -> int:
    return m.special.cbe_address if m.special.cbe_enable else 0


def _task(m: Machine, warp: WarpState, sm: Sm) -> int:
    given = m.special.task_id
    return m.launch % MAX_TASKS if given is None else given


def _killed(m: Machine, warp: WarpState, sm: Sm) -> U32:
    bits: U32 = np.uint32(m.special.kill_mask) >> LANE_IDS & np.uint32(1)
    return bits * np.uint32(FULL)


def _counter(n: int, high: bool) -> Read:
    """SR_PM n or SR_PM_HI n."""

    def read(m: Machine, warp: WarpState, sm: Sm) -> int:
        if m.counters is None:
            return 0
        low_word, high_part = m.counters.read(sm, warp, n)
        return high_part if high else low_word

    return read


def _shift_mask(below: bool, equal: bool) -> U32:
    """Lane masks by position: EQ LT LE GT GE."""
    values = []
    for lane in range(WARP_SIZE):
        bit = 1 << lane
        side = bit - 1 if below else FULL & ~(2 * bit - 1)
        values.append(side | bit if equal else side)
    return np.array(values, np.uint32)


_EQ = np.left_shift(np.uint32(1), LANE_IDS)
_LT, _LE = _shift_mask(True, False), _shift_mask(True, True)
_GT, _GE = _shift_mask(False, False), _shift_mask(False, True)

LASTING = frozenset((0, 2, 3, *range(33, 36), *range(37, 40), *range(46, 63), 136, 255))
"""Numbers of registers that stay constant while a warp runs; others count or can change."""

CLOCKS = frozenset(range(80, 84))
"""Numbers of registers that count instructions: each instruction changes them."""
CHANGING = frozenset((*range(4, 12), 40, 42, 64, 66, *range(72, 80)))
"""Numbers of registers that an event changes: performance counters, live threads, error words."""
CLEARED = 67
"""The error word that a read clears, up to sm_62."""

ROWS: dict[int, Read] = {
    0: lambda m, w, s: LANE_IDS,
    2: _virt_cfg,
    3: _virt_id,
    **{4 + n: _counter(n, high=False) for n in range(8)},
    15: lambda m, w, s: m.special.ticket,
    16: lambda m, w, s: m.special.prim_type,
    17: lambda m, w, s: m.special.invocation_id,
    18: lambda m, w, s: _float_bits(m.special.y_direction),
    19: _killed,
    20: lambda m, w, s: SHADER_TYPES.index(m.special.shader_type),
    21: lambda m, w, s: _cbe(m) & FULL,
    22: lambda m, w, s: _cbe(m) >> 32,
    23: lambda m, w, s: int(m.special.cbe_enable),
    24: lambda m, w, s: m.special.machine_id,
    28: _affinity,
    29: lambda m, w, s: LANE_IDS | np.uint32(m.special.vertices << 16),
    30: lambda m, w, s: _float_bits(m.special.wscale_xy),
    31: lambda m, w, s: _float_bits(m.special.wscale_z),
    32: _tid,
    33: lambda m, w, s: w.tid[0],
    34: lambda m, w, s: w.tid[1],
    35: lambda m, w, s: w.tid[2],
    37: lambda m, w, s: w.cta.block[0],
    38: lambda m, w, s: w.cta.block[1],
    39: lambda m, w, s: w.cta.block[2],
    40: _live_threads,
    41: _queue_increment,
    42: lambda m, w, s: WARP_SIZE * len(w.cta.live),
    48: lambda m, w, s: m.layout.shared_window & 0xFFFF_FFFF,
    49: lambda m, w, s: WINDOW_BYTES,
    50: lambda m, w, s: m.shared_bytes + -m.shared_bytes % 128,
    51: lambda m, w, s: SHARED_BANKS,
    52: lambda m, w, s: m.layout.local_window & 0xFFFF_FFFF,
    53: lambda m, w, s: WINDOW_BYTES,
    54: lambda m, w, s: w.local.low,
    55: lambda m, w, s: w.local.start,
    56: lambda m, w, s: _EQ,
    57: lambda m, w, s: _LT,
    58: lambda m, w, s: _LE,
    59: lambda m, w, s: _GT,
    60: lambda m, w, s: _GE,
    61: lambda m, w, s: m.registers,
    64: lambda m, w, s: m.traps.global_status(s) if m.traps else 0,
    66: lambda m, w, s: m.traps.warp_status(w) if m.traps else 0,
    67: lambda m, w, s: m.traps.clear_status(w) if m.traps else 0,
    **{72 + n: _counter(n, high=True) for n in range(8)},
    80: lambda m, w, s: clock(s, w) & FULL,
    81: lambda m, w, s: clock(s, w) >> 32,
    82: lambda m, w, s: _timer(m, w, s) & FULL,
    83: lambda m, w, s: _timer(m, w, s) >> 32,
    96: _task,
    97: _queue_index,
    98: lambda m, w, s: _queue_address(m, w) & FULL,
    99: lambda m, w, s: _queue_address(m, w) >> 32,
}
"""SR number to its value: one int for all lanes, or 32."""

ROWS_WIDE: dict[int, Read] = {
    **{
        n: ROWS[n]
        for n in (0, 2, 3, *range(32, 36), *range(37, 40), 42, *range(48, 62), *range(80, 84))
    },
    46: lambda m, w, s: m.layout.local_window >> 32,
    47: lambda m, w, s: m.layout.shared_window >> 32,
    62: lambda m, w, s: m.barriers,
    64: ROWS[64],
    66: ROWS[66],
    67: lambda m, w, s: s.index,
    136: lambda m, w, s: w.cta.rank,
}
"""Registers of sm_70 and later; the others read zero.  From sm_100 on code multiplies SR_CgaSize
with the distance to launch words of clusters of another size: zero is the launch's own
(*inferred*)."""

ROWS_SM_6X: dict[int, Read] = {
    46: lambda m, w, s: m.layout.local_window >> 32,
    47: lambda m, w, s: m.layout.shared_window >> 32,
    62: lambda m, w, s: m.barriers,
}
"""Registers that sm_60 and later add."""


_VTG = ("vertex_a", "vertex_b", "tess_init", "tess", "geometry")
VALID_IN: dict[Shaders, tuple[str, ...]] = {
    Shaders.ALL: SHADER_TYPES,
    Shaders.COMPUTE: ("compute",),
    Shaders.PIXEL: ("pixel",),
    Shaders.VTG: _VTG,
    Shaders.VSB_TI: ("vertex_b", "tess_init"),
    Shaders.GRAPHICS: (*_VTG, "pixel"),
}
"""Validity of a register to the shader types of a launch."""


@cache
def _coupled() -> frozenset[int]:
    return coupled_numbers()


class SregFile:
    """The special registers of one launch.

    Attributes:
        machine: what they show.
        rows: number to reader; a caller may add or replace rows.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.rows = dict(ROWS)
        if is_wide(machine.arch):
            self.rows = dict(ROWS_WIDE)
            return
        if machine.arch.startswith("sm_6"):
            self.rows.update(ROWS_SM_6X)
        self._drop_other_shaders(machine.special.shader_type)

    def _drop_other_shaders(self, shader: str) -> None:
        """A register that is not valid in the launch's shader type reads zero."""
        for number in list(self.rows):
            shaders = SPECIAL_REGISTERS[number].shaders
            if shaders is not None and shader not in VALID_IN[shaders]:
                del self.rows[number]

    def read(self, warp: WarpState, sm: Sm, number: int) -> U32:
        """As S2R reads it."""
        row = self.rows.get(number)
        if row is None:
            return const32(0)
        value = row(self.machine, warp, sm)
        return const32(value) if isinstance(value, int) else value

    def read_coupled(self, warp: WarpState, sm: Sm, number: int) -> U32:
        """As CS2R reads it: zero where the register is not coupled."""
        return self.read(warp, sm, number) if number in _coupled() else const32(0)
