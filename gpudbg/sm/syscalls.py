"""Functions the driver provides to device code: printf, malloc, free, assert, multicast copies.

A program calls them through undefined symbols; the placed image gives each an address above the
code.  A warp whose pc arrives there executes the function at once, lane by lane, and returns.
Arguments and results are in R4 and up, 64-bit ones in even pairs (*inferred* from what ptxas
emits for calls of these symbols).

printf output goes to `Gpu.output`; the device heap is device memory tagged "heap".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gpudbg.bits import lanes_of
from gpudbg.errors import UsageError
from gpudbg.mem.device import DeviceMemory
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.windows import WINDOW_BYTES
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.engines.values import lanes32
from gpudbg.sm.faults import AssertRaised, WarpErrorRaised
from gpudbg.sm.state import WarpState

FIRST_ARGUMENT = 4
"""Register of the first argument and of the result."""

RETURN_ADDRESS = 20
"""Register pair of the return address from sm_70 on; before, it is on the divergence stack."""

MAX_STRING = 1 << 16


def function_of(name: str) -> Callable[[Any, Any], None] | None:
    """What a system function does, or None when it has no model."""
    call = _CALLS.get(name)
    if call is None:
        return None

    def execute(m: StepEngine, i: object) -> None:
        call(m)
        if m.warp.has_groups:
            m.branch(m.exec, m.reg_pair(RETURN_ADDRESS))
        else:
            m.pop("RET", m.exec)

    return execute


def _word(m: StepEngine, register: int, lane: int) -> int:
    row = np.broadcast_to(np.asarray(m.reg(register)), 32)
    return int(row[lane])


def _wide(m: StepEngine, register: int, lane: int) -> int:
    return _word(m, register, lane) | _word(m, register + 1, lane) << 32


# ---- memory as a lane sees it ------------------------------------------------------------
def read_generic(
    memory: DeviceMemory, warp: WarpState, lane: int, address: int, size: int
) -> bytes:
    """Bytes at a generic address.

    Raises:
        WarpErrorRaised: MMU_FAULT or OOR_ADDR outside memory.
    """
    layout = memory.layout
    shared = address - layout.shared_window
    local = address - layout.local_window
    if 0 <= local < WINDOW_BYTES:
        with suppress(UsageError):
            return warp.local.read(lane, local, size)
    elif 0 <= shared < layout.shared_bytes:
        shared &= WINDOW_BYTES - 1
        if shared + size <= warp.cta.shared.size:
            return warp.cta.shared.data[shared : shared + size].tobytes()
    else:
        found = memory.find(address)
        if found is not None and address + size <= found.end:
            return memory.read(address, size)
    raise WarpErrorRaised(
        "MMU_FAULT",
        1 << lane,
        f"a system call reads 0x{address:x}, {memory.describe(address)}",
        address=address,
        space="global",
        access="load",
        size=size,
    )


def _string(m: StepEngine, lane: int, address: int) -> str:
    raw = bytearray()
    while len(raw) < MAX_STRING:
        byte = read_generic(m.memory, m.warp, lane, address + len(raw), 1)
        if byte == b"\0":
            break
        raw += byte
    return raw.decode("utf-8", "replace")


# ---- printf ------------------------------------------------------------------------------
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d*))?"
    r"(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>[diouxXeEfFgGaAcsp%])"
)
_WIDE_LENGTHS = frozenset(("ll", "l", "j", "z", "t"))


class _Arguments:
    """The packed argument area of vprintf: each value at its natural alignment."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._at = 0

    def take(self, size: int) -> bytes:
        self._at = -(-self._at // size) * size
        raw = self._read(self._at, size)
        self._at += size
        return raw

    def integer(self, size: int, signed: bool) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def real(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])


def format_printf(text: str, arguments: _Arguments, string: Callable[[int], str]) -> str:
    """C's printf on the device's packed arguments; an unknown conversion is printed as it is."""

    def replace(m: re.Match[str]) -> str:
        kind = m["kind"]
        if kind == "%":
            return "%"
        width, precision = m["width"] or "", m["precision"]
        if width == "*":
            width = str(arguments.integer(4, True))
        if precision == "*":
            given = arguments.integer(4, True)
            precision = str(given) if given >= 0 else None
        spec = "%" + m["flags"] + width + ("" if precision is None else "." + (precision or "0"))
        return _convert(spec, kind, m["length"] or "", arguments, string)

    return _CONVERSION.sub(replace, text)


def _convert(
    spec: str, kind: str, length: str, arguments: _Arguments, string: Callable[[int], str]
) -> str:
    if kind in "eEfFgGaA":
        real = arguments.real()
        return _hexadecimal(spec, kind, real) if kind in "aA" else str((spec + kind) % real)
    if kind == "s":
        return str((spec + "s") % string(arguments.integer(8, False)))
    if kind == "p":
        return str((spec.replace("#", "") + "s") % f"0x{arguments.integer(8, False):x}")
    if kind == "c":
        plain = re.sub(r"\..*", "", spec)
        return str((plain + "s") % chr(arguments.integer(4, False) & 0xFF))
    size = 8 if length in _WIDE_LENGTHS else 4
    value = arguments.integer(size, kind in "di")
    narrow = {"h": 16, "hh": 8}.get(length)
    if narrow is not None:
        value &= (1 << narrow) - 1
        if kind in "di" and value >> (narrow - 1):
            value -= 1 << narrow
    if "#" in spec and kind in "oxX":
        # Python writes 0o10 and 0x0 where C writes 010 and 0.
        spec = spec.replace("#", "" if value == 0 or kind == "o" else "#")
        if kind == "o" and value:
            digits = len(f"{value:o}") + 1
            return str(re.sub(r"(\.\d+)?$", f".{digits}", spec, count=1) + "o") % value
    return str((spec + ("d" if kind in "diu" else kind)) % value)


def _hexadecimal(spec: str, kind: str, value: float) -> str:
    """`%a`: as few digits as the number needs, or those of the precision."""
    plain, _, precision = spec.partition(".")
    sign, lead, digits, exponent = "", "", "", ""
    text = value.hex()
    parts = re.fullmatch(r"(-?)0x([01])\.([0-9a-f]*)p(.*)", text)
    if parts:
        sign, lead, digits, exponent = parts.groups()
        bits = int(lead + digits.ljust(13, "0"), 16)
        if precision and int(precision) < 13:
            drop = 4 * (13 - int(precision))
            bits = (bits + (1 << drop - 1) - 1 + (bits >> drop & 1)) >> drop << drop
        lead, digits = f"{bits >> 52:x}", f"{bits & (1 << 52) - 1:013x}"
        digits = digits.ljust(int(precision), "0")[: int(precision)] if precision else digits
        digits = digits if precision else digits.rstrip("0")
        point = "." if digits or "#" in plain else ""
        text = f"{sign}0x{lead}{point}{digits}p{exponent}"
    if "+" in plain and not text.startswith("-"):
        text = "+" + text
    text = text.upper() if kind == "A" else text
    flags = re.match(r"%[-+ #0]*", plain)
    width = plain[flags.end() if flags else 1 :]
    return str(("%" + "-" * ("-" in plain) + width + "s") % text)


def _vprintf(m: StepEngine) -> None:
    results = np.zeros(32, np.uint32)
    for lane in lanes_of(m.exec):
        text = _string(m, lane, _wide(m, FIRST_ARGUMENT, lane))
        base = _wide(m, FIRST_ARGUMENT + 2, lane)

        def read(at: int, size: int, lane: int = lane, base: int = base) -> bytes:
            return read_generic(m.memory, m.warp, lane, base + at, size)

        def string(address: int, lane: int = lane) -> str:
            return _string(m, lane, address) if address else "(null)"

        out = format_printf(text, _Arguments(read), string)
        m.output.write(out)
        results[lane] = len(_CONVERSION.findall(text))
    m.reg_write(FIRST_ARGUMENT, results)


# ---- heap --------------------------------------------------------------------------------
def _malloc(m: StepEngine) -> None:
    low, high = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    for lane in lanes_of(m.exec):
        size = _wide(m, FIRST_ARGUMENT, lane)
        if size == 0 or m.heap.used + size > m.heap.limit:
            continue  # NULL, as documented
        m.heap.used += size
        made = m.memory.allocate(size, f"device malloc({size})", "heap")
        m.memory.leave_uninitialized(made)
        if m.written is None:
            made.lose_marks()
        m.heap.blocks.add(made)
        low[lane], high[lane] = made.base & 0xFFFFFFFF, made.base >> 32
    m.reg_write(FIRST_ARGUMENT, low)
    m.reg_write(FIRST_ARGUMENT + 1, high)


def _free(m: StepEngine) -> None:
    for lane in lanes_of(m.exec):
        address = _wide(m, FIRST_ARGUMENT, lane)
        if address == 0:
            continue
        found = m.memory.find(address)
        if found is None or found.tag != "heap" or found.base != address:
            place = m.memory.describe(address)
            text = f"free of 0x{address:x}, which malloc did not give: {place}"
            if m.observers is not None and m.observers.hooks["refused"]:
                # As with a bad access, the lane is skipped.
                fault = MemoryFault("MMU_FAULT", 1 << lane, address, "global", text)
                m.observers.emit("refused", m.warp, fault, "free", 0)
                continue
            raise WarpErrorRaised(
                "MMU_FAULT", 1 << lane, text, address=address, space="global", access="free", size=0
            )
        m.heap.used -= found.size
        m.heap.blocks.discard(found)
        m.memory.free(found)


# ---- assert ------------------------------------------------------------------------------
def _assertfail(m: StepEngine) -> None:
    for lane in lanes_of(m.exec):
        message = _string(m, lane, _wide(m, FIRST_ARGUMENT, lane))
        file = _string(m, lane, _wide(m, FIRST_ARGUMENT + 2, lane))
        line = _word(m, FIRST_ARGUMENT + 4, lane)
        function = _string(m, lane, _wide(m, FIRST_ARGUMENT + 6, lane))
        block = ",".join(map(str, m.warp.block))
        thread = ",".join(map(str, m.warp.thread(lane)))
        text = (
            f"{file}:{line}: {function}: block: [{block}], thread: [{thread}] "
            f"Assertion `{message}` failed."
        )
        m.output.write(text + "\n")
    raise AssertRaised(text)


# ---- multicast copies, where the instruction has none (sm_120) ---------------------------------
_MAP, _COORDINATES, _TENSOR_MASK, _TENSOR_BARRIER = 6, 8, 13, 14
"""Registers of a tensor copy's arguments behind the target in the first pair; offsets of im2col
are 16 bits each where the stack begins (*inferred* from what ptxas emits)."""


def _bulk_multicast(m: StepEngine) -> None:
    """Target, source, bytes, CTAs, mbarrier in R4:R5, R6:R7, R8, R9, R10:R11 (*inferred*)."""
    for lane in lanes_of(m.exec):
        with m.only(1 << lane):
            size = _word(m, 8, lane) >> 4 & 0xFFFF | _word(m, 9, lane) << 16 & 0xFFFF_FFFF
            target = np.full(32, _word(m, FIRST_ARGUMENT, lane), np.uint64)
            words = np.full(32, size, np.uint32)
            m.bulk_copy(("S", "G"), target, m.reg(10), m.reg_pair(6), words, True)


def _tensor_multicast(dimensions: int, im2col: bool) -> Callable[[Any], None]:
    """A copy of a box of a tensor to several CTAs."""

    def call(m: StepEngine) -> None:
        for lane in lanes_of(m.exec):
            with m.only(1 << lane):
                shift = None
                if im2col:
                    stack = lanes32(m.reg(1))
                    words = [m.load("local", stack + np.uint32(4 * n), 4, False) for n in (0, 1)]
                    halves = [lanes32(w[0]) >> np.uint32(at) for w in words for at in (0, 16)]
                    shift = [half & np.uint32(0xFFFF) for half in halves[: dimensions - 2]]
                corner = [m.reg(_COORDINATES + n) for n in range(dimensions)]
                mask = lanes32(m.reg(_TENSOR_MASK)) << np.uint32(16)
                barrier = m.reg(_TENSOR_BARRIER)
                m.tensor_load(m.reg_pair(_MAP), m.reg(FIRST_ARGUMENT), barrier, corner, shift, mask)

    return call


# ---- graphs ------------------------------------------------------------------------------
def _set_conditional(m: StepEngine) -> None:
    """`cudaGraphSetConditional`: a condition's handle is here the address of its value, which the
    host reads when the graph comes to the node (*modelled*)."""
    for lane in lanes_of(m.exec):
        value = _word(m, FIRST_ARGUMENT + 2, lane)
        m.memory.write(_wide(m, FIRST_ARGUMENT, lane), struct.pack("<I", value))


_CALLS: dict[str, Callable[[Any], None]] = {
    "vprintf": _vprintf,
    "cudaGraphSetConditional": _set_conditional,
    "malloc": _malloc,
    "free": _free,
    "__assertfail": _assertfail,
    "__assert_fail": _assertfail,
    "__cuda_syscall_cp_async_bulk_multicast": _bulk_multicast,
    **{
        f"__cuda_syscall_cp_async_bulk_tensor_{n}d_{mode}_multicast": _tensor_multicast(
            n, mode == "im2col"
        )
        for n in range(1, 6)
        for mode in ("tile", "im2col")
    },
}
"""Symbol -> what it does."""
