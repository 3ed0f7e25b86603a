"""The warp record: where each piece of a warp's state lies in its byte buffer.

One buffer holds all architectural state of a warp: header, registers, divergence stack.  The
step engine works on NumPy and memoryview views of it; compiled code works on the same bytes at
the same offsets.  Offsets are bytes; every field is little-endian and naturally aligned.

    0x000 header      0x580 R[count][32] u32, UR likewise
    elsewhere the divergence stack, 16-byte entries; from sm_70 on the groups of lanes that wait
    (`gpudbg.sm.convergence.kept`)

Uniform registers (sm_75 and later) have a copy for each lane, which the lanes that execute together
write at once: so a debugger may switch between diverged lanes anywhere (*modelled*).

The first entries of all stacks of a launch lie together, then the second ones and so on: most
stacks stay shallow, and memory that is never touched costs nothing.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gpudbg.mem.pages import address_of, zeroed


class Slot(NamedTuple):
    """A header field: byte offset, bytes of an element, number of elements, meaning."""

    offset: int
    width: int
    length: int
    meaning: str


FIELDS: Final[dict[str, Slot]] = {
    "pc": Slot(0x000, 8, 1, "next instruction, a code address"),
    "active": Slot(0x008, 4, 1, "mask of the lanes that execute together now"),
    "exited": Slot(0x00C, 4, 1, "mask of the lanes that have ended"),
    "valid": Slot(0x010, 4, 1, "mask of the lanes that ever existed"),
    "depth": Slot(0x014, 4, 1, "entries on the divergence stack"),
    "budget": Slot(0x018, 8, 1, "instructions compiled code may still execute (signed)"),
    "pred": Slot(0x020, 4, 8, "masks of P0..P6; the eighth is PT, all ones"),
    "cc": Slot(0x040, 4, 5, "masks of the flags Z S C O K"),
    "status": Slot(0x054, 4, 1, "a Status"),
    "saved": Slot(0x058, 4, 1, "active mask saved by SAM"),
    "quad": Slot(0x05C, 4, 1, "1 between SAM and RAM"),
    "executed": Slot(0x060, 8, 1, "instructions issued since the warp began"),
    "trap_seen": Slot(0x068, 8, 1, "pc | 1 of the BPT the debugger was shown, else 0"),
    "ctaid": Slot(0x070, 4, 3, "CTA coordinates"),
    "pending": Slot(0x07C, 4, 1, "exit whose registers compiled code has yet to make; 0: none"),
    "bar_count": Slot(0x080, 4, 1, "popc of the last BAR.RED"),
    "bar_pred": Slot(0x084, 4, 1, "mask of the and/or of the last BAR.RED"),
    "bar_wait": Slot(0x088, 4, 1, "barrier the warp waits at, when status says so"),
    "crs": Slot(0x08C, 4, 1, "call/return stack pointer as SETCRSPTR left it"),
    "registers": Slot(0x090, 4, 1, "registers in the record"),
    "capacity": Slot(0x094, 4, 1, "divergence stack entries that fit"),
    "stack": Slot(0x098, 8, 1, "byte offset of the divergence stack from the record"),
    "pointers": Slot(0x0A0, 8, 4, "host pointers: shared, local, CTA block; `LOCAL_CLEAR`"),
    "self": Slot(0x0C0, 8, 1, "host pointer of this record"),
    "virtual_id": Slot(0x0C8, 4, 1, "SR_VirtId of lane 0, for compiled code"),
    "stack_step": Slot(0x0CC, 4, 1, "bytes from an entry of the divergence stack to the next"),
    "came_from": Slot(0x0D0, 8, 1, "pc of the last instruction that changed the flow"),
    "lmem": Slot(0x0D8, 4, 1, "local memory base as SETLMEMBASE left it"),
    "flags": Slot(0x0DC, 4, 1, "bits `FLAG_IDE`, `FLAG_TRAP`, `FLAG_BARRIER`, `FLAG_DEFERRED`"),
    "trap_status": Slot(0x0E0, 4, 1, "what SR_WarpErrorStatus reads"),
    "trap_cause": Slot(0x0E4, 4, 1, "why the warp entered the trap handler, a `trap.Cause`"),
    "trap_pc": Slot(0x0E8, 8, 1, "where the interrupted code goes on"),
    "trap_active": Slot(0x0F0, 4, 1, "active mask of the interrupted code"),
    "trap_depth": Slot(0x0F4, 4, 1, "divergence stack entries of the interrupted code"),
    "index": Slot(0x0F8, 4, 1, "warp number in the CTA"),
    "uniform": Slot(0x0FC, 4, 1, "uniform registers in the record, behind the registers"),
    "tid": Slot(0x100, 4, 96, "tid.x[32], tid.y[32], tid.z[32]"),
    "upred": Slot(0x280, 4, 8, "masks of UP0..UP6 by lane; the eighth is UPT, all ones"),
    "apart": Slot(0x2A0, 4, 1, "`IN_PYTHON`, `ALONE` or 0: where the groups of lanes are"),
    "ready": Slot(0x2A4, 4, 1, "groups on the stack that are ready"),
    "backward": Slot(0x2A8, 4, 1, "backward branches while others wait"),
    "opened": Slot(0x2AC, 4, 1, "activations of convergence barriers"),
    "held": Slot(0x2B0, 4, 16, "masks of the lanes that hold an activation, by barrier"),
    "activations": Slot(0x2F0, 4, 64, "number, holders, members, waiting lanes of each"),
    "came": Slot(0x3F0, 8, 1, "phase of its cluster's barrier it has arrived in, plus 1; 0: none"),
    "trap_quad": Slot(0x3F8, 4, 1, "`quad` of the interrupted code"),
    "return_pc": Slot(0x400, 4, 64, "Rpc.LO[32], Rpc.HI[32], as RPCMOV left them"),
    "lowest": Slot(0x500, 4, 1, "no ready group's pc is lower; of use where there are such"),
    "second": Slot(0x504, 4, 1, "the same of those that are not on top of the stack"),
}

HEADER_BYTES: Final = 0x580
MOST_ACTIVATIONS: Final = FIELDS["activations"].length // 4
"""Activations that a record has room for."""
ROW_BYTES: Final = 128
ENTRY_BYTES: Final = 16
SPARE_ENTRIES: Final = 1
"""Entries more than the capacity: for the token that the trap handler's entry pushes."""
ALIGNMENT: Final = 64

# Indices of 4- and 8-byte header words, as the engines index their memoryviews.
PC: Final = FIELDS["pc"].offset // 8
EXECUTED: Final = FIELDS["executed"].offset // 8
TRAP_SEEN: Final = FIELDS["trap_seen"].offset // 8
CAME_FROM: Final = FIELDS["came_from"].offset // 8
VIRTUAL_ID: Final = FIELDS["virtual_id"].offset // 4
SELF: Final = FIELDS["self"].offset // 8
STACK: Final = FIELDS["stack"].offset // 8
STACK_STEP: Final = FIELDS["stack_step"].offset // 4
POINTERS: Final = FIELDS["pointers"].offset // 8
REGISTERS: Final = FIELDS["registers"].offset // 4
INDEX: Final = FIELDS["index"].offset // 4
CTAID: Final = FIELDS["ctaid"].offset // 4
TID: Final = FIELDS["tid"].offset // 4
RETURN_PC: Final = FIELDS["return_pc"].offset // 4
ACTIVE: Final = FIELDS["active"].offset // 4
EXITED: Final = FIELDS["exited"].offset // 4
VALID: Final = FIELDS["valid"].offset // 4
DEPTH: Final = FIELDS["depth"].offset // 4
UPRED: Final = FIELDS["upred"].offset // 4
APART: Final = FIELDS["apart"].offset // 4
READY_GROUPS: Final = FIELDS["ready"].offset // 4
LOWEST: Final = FIELDS["lowest"].offset // 4
SECOND: Final = FIELDS["second"].offset // 4
BACKWARD: Final = FIELDS["backward"].offset // 4
OPENED: Final = FIELDS["opened"].offset // 4
HELD: Final = FIELDS["held"].offset // 4
ACTIVATIONS: Final = FIELDS["activations"].offset // 4
UNIFORM: Final = FIELDS["uniform"].offset // 4
PRED: Final = FIELDS["pred"].offset // 4
CC: Final = FIELDS["cc"].offset // 4
STATUS: Final = FIELDS["status"].offset // 4
SAVED: Final = FIELDS["saved"].offset // 4
QUAD: Final = FIELDS["quad"].offset // 4
BAR_COUNT: Final = FIELDS["bar_count"].offset // 4
BAR_PRED: Final = FIELDS["bar_pred"].offset // 4
BAR_WAIT: Final = FIELDS["bar_wait"].offset // 4
FLAGS: Final = FIELDS["flags"].offset // 4
TRAP_STATUS: Final = FIELDS["trap_status"].offset // 4
TRAP_CAUSE: Final = FIELDS["trap_cause"].offset // 4
CAME: Final = FIELDS["came"].offset // 8
TRAP_PC: Final = FIELDS["trap_pc"].offset // 8
TRAP_ACTIVE: Final = FIELDS["trap_active"].offset // 4
TRAP_DEPTH: Final = FIELDS["trap_depth"].offset // 4
TRAP_QUAD: Final = FIELDS["trap_quad"].offset // 4

IN_PYTHON: Final = 1
"""Groups of lanes are in Python, what is kept of them in the record is old."""
ALONE: Final = 2
"""They are in the record; the running lanes are the only group, which no others may join."""

FLAG_IDE: Final = 1
"""Inside an IDE critical section."""
FLAG_TRAP: Final = 2
"""In the trap handler."""
FLAG_BARRIER: Final = 4
"""Taken off a barrier to enter the trap handler."""
FLAG_DEFERRED: Final = 8
"""A stop request or a completed step waits for the end of the critical section."""

FLAG_NAMES: Final = "ZSCOK"
CC_INDEX: Final = {name: CC + n for n, name in enumerate(FLAG_NAMES)}

TOKENS: Final = ("DIV", "SSY", "PBK", "PCNT", "RET", "PLONGJMP", "PEXIT", "TRAP")
"""Kinds of divergence-stack entries; the number in the record is the index."""
TOKEN_CODE: Final = {name: n for n, name in enumerate(TOKENS)}

READY, AT_BARRIER, DONE, TRAPPED, FAULTED, STUCK, AT_CLUSTER = range(7)
STATUS_NAMES: Final = (
    "ready", "barrier", "exited", "trap", "error", "converging", "barrier",
)  # fmt: skip
"""A warp that waits for its cluster is at a barrier, too."""


def record_bytes(registers: int) -> int:
    """Bytes of a record with this many registers of both files, without its divergence stack."""
    return HEADER_BYTES + registers * ROW_BYTES


def stack_bytes(capacity: int) -> int:
    """Bytes of a divergence stack."""
    return (capacity + SPARE_ENTRIES) * ENTRY_BYTES


def lay_out(record: npt.NDArray[np.uint8], registers: int, capacity: int, uniform: int = 0) -> None:
    """Fill in what says where things lie in a record, and PT; or in many, one a row."""
    words, quads = record.view(np.uint32), record.view(np.uint64)
    words[..., PRED + 7] = words[..., UPRED + 7] = 0xFFFF_FFFF
    words[..., UNIFORM] = uniform
    words[..., FIELDS["registers"].offset // 4] = registers
    words[..., FIELDS["capacity"].offset // 4] = capacity
    quads[..., STACK] = record_bytes(registers + uniform)
    words[..., STACK_STEP] = ENTRY_BYTES


def new_record(registers: int, capacity: int) -> npt.NDArray[np.uint8]:
    """A zeroed record of its own, laid out."""
    record = zeroed(record_bytes(registers) + stack_bytes(capacity))
    lay_out(record, registers, capacity)
    record.view(np.uint64)[SELF] = address_of(record)
    return record


def virtual_id(sm: Any, cta_slot: Any, slot: Any) -> Any:
    """SR_VirtId of lane 0, from ints or arrays: SM, CTA slot, warp slot."""
    upper, lower = cta_slot >> 4, cta_slot & 15
    return slot << 8 | lower << 16 | sm << 20 | upper << 29
