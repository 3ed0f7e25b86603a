"""The state of a stopped wave, read from its hardware registers.

What the trap handler leaves in ttmp registers is read too where it is given:

    ttmp0, ttmp1   program counter; trap id (ttmp1 23:16, gfx12: 31:28), host trap (ttmp1 bit 24)
    ttmp6          wave stopped (30), saved HALT (29), saved trap id (28:25), queue packet (24:0)
    ttmp12         STATUS (gfx12: STATE_PRIV) as it was at the trap
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpudbg.bits import Field

from .apply import register_label
from .dump import Dump

TRAP_IDS: Mapping[int, str] = {1: "breakpoint", 2: "assert or abort", 3: "debug trap"}
DOORBELL_ERRORS = ("abort", "trap", "math error", "illegal instruction", "memory violation",
                   "aperture violation")  # fmt: skip
"""Queue error codes: bit 10 + index of the doorbell value."""

_DOORBELL_SHIFT = 10
_ALU = ("invalid", "input denormal", "division by 0", "overflow", "underflow", "inexact",
        "integer division by 0")  # fmt: skip
_ALU_FIELDS = ("ALU_INVALID", "ALU_INPUT_DENORM", "ALU_FLOAT_DIV0", "ALU_OVERFLOW",
               "ALU_UNDERFLOW", "ALU_INEXACT", "ALU_INT_DIV0")  # fmt: skip
_WATCH_ENABLE = 7
_MEMORY_VIOLATION = 8
_UPPER_HALF_WATCHES = 3


@dataclass(frozen=True, slots=True)
class WaveStopCause:
    """Why the wave stopped, or may have.

    Args:
        name: a stable word for programs.
        text: for people.
        evidence: register and field that say so.
    """

    name: str
    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception flag that is set.

    Args:
        name: of the exception.
        enabled: whether it traps; None when the enables are not known.
        evidence: register and field.
    """

    name: str
    enabled: bool | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Report:
    """A wave in words.

    Args:
        dump: what was read.
        causes: why it stopped, most telling first.
        raised: exception flags that are set.
        state: sentences on its state.
        pc: program counter, or None.
        place: where it runs: field name -> value.
        counters: outstanding operations.
        modes: rounding, denormals and further modes, as text.
    """

    dump: Dump
    causes: tuple[WaveStopCause, ...]
    raised: tuple[Raised, ...]
    state: tuple[str, ...]
    pc: int | None
    place: Mapping[str, int]
    counters: Mapping[str, int]
    modes: tuple[str, ...]

    @property
    def headline(self) -> str:
        """What happened, in one line."""
        if not self.causes:
            return "no reason for a stop is in these registers"
        return "; ".join(cause.text for cause in self.causes)

    def to_json(self) -> dict[str, Any]:
        """As a JSON-able dict."""
        processor = self.dump.processor
        return {
            "mcpu": processor.name,
            "generation": processor.generation,
            "headline": self.headline,
            "causes": [
                {"name": c.name, "text": c.text, "evidence": c.evidence} for c in self.causes
            ],
            "exceptions": [
                {"name": r.name, "enabled": r.enabled, "evidence": r.evidence} for r in self.raised
            ],
            "state": list(self.state),
            "pc": self.pc,
            "place": dict(self.place),
            "counters": dict(self.counters),
            "modes": list(self.modes),
            "registers": {
                register_label(processor.registers[number]): {
                    "id": number,
                    "value": value,
                    "fields": [v.to_json() for v in processor.registers[number].decode(value)],
                }
                for number, value in sorted(self.dump.hardware.items())
            },
        }

    def lines(self) -> list[str]:
        """As text."""
        processor = self.dump.processor
        lines = [f"{processor.name} ({processor.generation}): {self.headline}"]
        if self.pc is not None:
            lines.append(f"pc 0x{self.pc:x}")
        lines += [f"  {cause.text}: {cause.evidence}" for cause in self.causes]
        lines += list(self.state)
        for one in self.raised:
            traps = {True: "traps", False: "does not trap", None: "enables not given"}[one.enabled]
            lines.append(f"exception flag: {one.name} ({traps}; {one.evidence})")
        if self.place:
            lines.append("runs on " + ", ".join(f"{k} {v}" for k, v in self.place.items()))
        if self.counters:
            lines.append("outstanding: " + ", ".join(f"{k} {v}" for k, v in self.counters.items()))
        return lines + [f"mode: {text}" for text in self.modes]


def read_wave(dump: Dump) -> Report:
    """Tell what the registers of a wave say."""
    reader = _Reader(dump)
    raised = tuple(reader.raised())
    return Report(
        dump, tuple(reader.causes(raised)), raised, tuple(reader.state()), reader.pc(),
        reader.place(), reader.counters(), tuple(reader.modes()),
    )  # fmt: skip


_FLAGS: tuple[tuple[str, str, str, str], ...] = (
    ("TRAPSTS", "ILLEGAL_INST", "illegal_instruction", "illegal instruction"),
    ("EXCP_FLAG_PRIV", "ILLEGAL_INST", "illegal_instruction", "illegal instruction"),
    ("EXCP_FLAG_PRIV", "MEMVIOL", "memory_violation", "memory violation"),
    ("TRAPSTS", "XNACK_ERROR", "translation_error", "address translation error"),
    ("TRAPSTS", "UTC_ERROR", "translation_error", "address translation error"),
    ("EXCP_FLAG_PRIV", "XNACK_ERROR", "translation_error", "address translation error"),
    ("STATUS", "ECC_ERR", "ecc_error", "ECC error"),
    ("STATE_PRIV", "POISON_ERR", "poison", "poisoned data was read"),
    ("STATUS", "FATAL_HALT", "fatal_halt", "halted by a fatal error"),
)
"""Register, field, name, text of what stops a wave whatever is enabled."""

_LATER_FLAGS: tuple[tuple[str, str, str, str], ...] = (
    ("TRAPSTS", "HOST_TRAP", "host_trap", "trap raised by the host"),
    ("EXCP_FLAG_PRIV", "HOST_TRAP", "host_trap", "trap raised by the host"),
    ("TRAPSTS", "TRAP_AFTER_INST", "single_step", "single step"),
    ("EXCP_FLAG_PRIV", "TRAP_AFTER_INST", "single_step", "single step"),
    ("TRAPSTS", "WAVE_BEGIN", "wave_begin", "trap at wave begin"),
    ("TRAPSTS", "WAVESTART", "wave_begin", "trap at wave begin"),
    ("EXCP_FLAG_PRIV", "WAVE_START", "wave_begin", "trap at wave begin"),
    ("TRAPSTS", "WAVE_END", "wave_end", "trap at wave end"),
    ("EXCP_FLAG_PRIV", "WAVE_END", "wave_end", "trap at wave end"),
    ("TRAPSTS", "PERF_SNAPSHOT", "perf_snapshot", "performance snapshot"),
    ("EXCP_FLAG_PRIV", "PERF_SNAPSHOT", "perf_snapshot", "performance snapshot"),
    ("TRAPSTS", "SAVECTX", "save_context", "context save requested"),
    ("EXCP_FLAG_PRIV", "SAVE_CONTEXT", "save_context", "context save requested"),
)
"""As `_FLAGS`, what is said after exceptions and s_trap."""

_STATE: tuple[tuple[str, str, str], ...] = (
    ("STATUS", "HALT", "halted"),
    ("STATE_PRIV", "HALT", "halted"),
    ("STATUS", "PRIV", "privileged: in the trap handler"),
    ("STATUS", "IN_BARRIER", "waits at a barrier"),
    ("STATUS", "EXECZ", "no lane is active (EXEC is zero)"),
    ("STATUS", "MUST_EXPORT", "has to export before it ends"),
    ("STATUS", "NO_VGPRS", "its VGPRs were released"),
    ("STATUS", "IDLE", "idle"),
    ("MODE", "VSKIP", "vector instructions are skipped"),
)
"""Register, field, sentence when it is set."""

_COUNTERS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "VM": (("VM_CNT", 0), ("VM_CNT_HI", 4)),
    "LGKM": (("LGKM_CNT", 0), ("LGKM_CNT_BIT4", 4), ("LGKM_CNT_BIT5", 5)),
    "EXP": (("EXP_CNT", 0),),
    "VALU": (("VALU_CNT", 0),),
    "VS": (("VS_CNT", 0),),
    "LOAD": (("LOAD_CNT", 0),),
    "STORE": (("STORE_CNT", 0),),
    "SAMPLE": (("SAMPLE_CNT", 0),),
    "BVH": (("BVH_CNT", 0),),
    "DS": (("DS_CNT", 0),),
}
"""Counter -> its fields of IB_STS with their shifts."""

_STEP_ENABLES = (
    ("MODE", "DEBUG_EN"), ("MODE", "TRAP_AFTER_INST_EN"), ("TRAP_CTRL", "TRAP_AFTER_INST"),
)  # fmt: skip


class _Reader:
    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.gfx12 = dump.processor.generation == "gfx12"

    def set(self, register: str, field: str) -> bool:
        """Whether a field is there and not zero."""
        return bool(self.dump.get(register, field))

    def ttmp(self, number: int, high: int, low: int) -> int | None:
        value = self.dump.scalars.get(f"ttmp{number}")
        return None if value is None else Field(high, low).get(value)

    # exceptions

    def enables(self) -> int | None:
        """Bit i: exception i traps; bit 7: address watches."""
        if not self.gfx12:
            return self.dump.get("MODE", "EXCP_EN")
        found = [self.dump.get("TRAP_CTRL", name) for name in (*_ALU_FIELDS, "ADDR_WATCH")]
        if found[0] is None:
            return None
        return sum((value or 0) << bit for bit, value in enumerate(found))

    def raised(self) -> Iterator[Raised]:
        enables = self.enables()

        def traps(bit: int) -> bool | None:
            return None if enables is None else bool(enables >> bit & 1)

        for bit, name, evidence in self.alu_flags():
            yield Raised(name, traps(bit), evidence)
        for index, evidence in self.watches():
            yield Raised(f"address watch {index}", traps(_WATCH_ENABLE), evidence)
        if (self.dump.get("TRAPSTS", "EXCP") or 0) >> _MEMORY_VIOLATION & 1:
            yield Raised("memory violation", True, f"TRAPSTS.EXCP bit {_MEMORY_VIOLATION}")
        for register in ("TRAPSTS", "EXCP_FLAG_USER"):
            if self.set(register, "BUFFER_OOB"):
                yield Raised("buffer access out of bounds", False, f"{register}.BUFFER_OOB")

    def alu_flags(self) -> Iterator[tuple[int, str, str]]:
        excp = self.dump.get("TRAPSTS", "EXCP") or 0
        for bit, name in enumerate(_ALU):
            if excp >> bit & 1:
                yield bit, name, f"TRAPSTS.EXCP bit {bit}"
            if self.set("EXCP_FLAG_USER", _ALU_FIELDS[bit]):
                yield bit, name, f"EXCP_FLAG_USER.{_ALU_FIELDS[bit]}"

    def watches(self) -> Iterator[tuple[int, str]]:
        if (self.dump.get("TRAPSTS", "EXCP") or 0) >> _WATCH_ENABLE & 1:
            yield 0, f"TRAPSTS.EXCP bit {_WATCH_ENABLE}"
        for index in range(_UPPER_HALF_WATCHES):
            if (self.dump.get("TRAPSTS", "EXCP_HI") or 0) >> index & 1:
                yield index + 1, f"TRAPSTS.EXCP_HI bit {index}"
        for index in range(_UPPER_HALF_WATCHES + 1):
            if (self.dump.get("EXCP_FLAG_PRIV", "ADDR_WATCH") or 0) >> index & 1:
                yield index, f"EXCP_FLAG_PRIV.ADDR_WATCH bit {index}"

    # causes

    def causes(self, raised: tuple[Raised, ...]) -> Iterator[WaveStopCause]:
        yield from self.flagged(_FLAGS)
        for one in raised:
            if one.name == "memory violation":
                yield WaveStopCause("memory_violation", "memory violation", one.evidence)
            elif one.enabled:
                name = "address_watch" if one.name.startswith("address") else "exception"
                text = one.name if name == "address_watch" else f"exception: {one.name}"
                yield WaveStopCause(name, text, f"{one.evidence}, enabled")
        yield from self.software_trap()
        later = list(self.flagged(_LATER_FLAGS))
        yield from later
        if self.ttmp(1, 24, 24) and not self.gfx12 and not _named(later, "host_trap"):
            yield WaveStopCause("host_trap", "trap raised by the host", "ttmp1 bit 24")
        yield from self.doorbell()

    def flagged(self, table: tuple[tuple[str, str, str, str], ...]) -> Iterator[WaveStopCause]:
        for register, field, name, text in table:
            if self.set(register, field):
                yield WaveStopCause(name, text, f"{register}.{field}")

    def software_trap(self) -> Iterator[WaveStopCause]:
        at_trap = self.ttmp(1, 31, 28) if self.gfx12 else self.ttmp(1, 23, 16)
        saved = self.ttmp(6, 28, 25)
        number = at_trap or saved
        if number:
            evidence = "trap id in ttmp1" if at_trap else "saved trap id in ttmp6"
            what = TRAP_IDS.get(number, "trap handler's own")
            name = what.replace(" ", "_").replace("'", "") if number in TRAP_IDS else "s_trap"
            yield WaveStopCause(name, f"s_trap {number}: {what}", evidence)

    def doorbell(self) -> Iterator[WaveStopCause]:
        value = self.dump.wide.get("doorbell", 0)
        for index, text in enumerate(DOORBELL_ERRORS):
            bit = _DOORBELL_SHIFT + index
            if value >> bit & 1:
                yield WaveStopCause(
                    "queue_error", f"queue error sent: {text}", f"doorbell bit {bit}"
                )

    # state

    def state(self) -> Iterator[str]:
        for register, field, text in _STATE:
            if self.set(register, field):
                yield f"{text} ({register}.{field})"
        for register, field in _STEP_ENABLES:
            if self.set(register, field):
                yield f"single-stepping is on: a trap follows each instruction ({register}.{field})"
        if self.dump.wide.get("exec") == 0:
            yield "no lane is active (exec = 0)"
        if self.set("STATUS", "SKIP_EXPORT"):
            yield (
                "STATUS.SKIP_EXPORT is set: for a compute wave, the trap handler was entered and "
                "says so to the debugger"
            )
        yield from self.trap_handler_state()
        yield from self.memory()

    def trap_handler_state(self) -> Iterator[str]:
        if self.ttmp(6, 30, 30):
            yield "stopped by the trap handler (ttmp6 bit 30)"
        if self.ttmp(6, 29, 29):
            yield "was halted before the trap (ttmp6 bit 29)"
        if not self.gfx12 and self.ttmp(6, 31, 31):
            yield "ttmp registers were not set up at launch (ttmp6 bit 31)"
        packet = self.ttmp(6, 24, 0)
        if packet:
            yield f"dispatched by queue packet 0x{packet:x} (ttmp6 24:0)"
        if self.gfx12 and self.ttmp(8, 31, 31):
            yield "the debug flag is set (ttmp8 bit 31)"
        saved = self.dump.scalars.get("ttmp12")
        register = self.dump.processor.by_name("STATE_PRIV" if self.gfx12 else "STATUS")
        if saved is not None and register is not None:
            fields = register.decode(saved)
            names = [v.row.name for v in fields if v.value and v.row.bits.width == 1]
            flags = ", ".join(names) or "no flag set"
            yield f"{register.name} at the trap: 0x{saved:08x} ({flags})"

    def memory(self) -> Iterator[str]:
        for name, field in (("private", "PRIVATE_BASE"), ("shared", "SHARED_BASE")):
            base = self.dump.get("SH_MEM_BASES", field)
            if base is not None:
                yield f"{name} aperture at 0x{base << 48:016x}"

    def pc(self) -> int | None:
        if "pc" in self.dump.wide:
            return self.dump.wide["pc"]
        low, high = self.dump.scalars.get("ttmp0"), self.ttmp(1, 15, 0)
        return None if low is None or high is None else high << 32 | low

    def place(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in ("HW_ID1", "HW_ID2", "HW_ID", "HW_ID_LEGACY", "XCC_ID"):
            register = self.dump.processor.by_name(name)
            if register is None or register.id not in self.dump.hardware:
                continue
            value = self.dump.hardware[register.id]
            if not register.fields:
                found.setdefault(name, value)
            for row in register.fields:
                if row.name not in ("DP_RATE", "WAVE_ID_MSB"):
                    found.setdefault(row.name, row.bits.get(value))
        msb = self.dump.get("HW_ID_LEGACY", "WAVE_ID_MSB")
        if msb and self.dump.get("HW_ID1", "WAVE_ID") is None:
            found["WAVE_ID"] += msb << 4
        return found

    def counters(self) -> dict[str, int]:
        found = {}
        for name, parts in _COUNTERS.items():
            values = [(self.dump.get("IB_STS", field), shift) for field, shift in parts]
            if values[0][0] is not None:
                found[name] = sum((value or 0) << shift for value, shift in values)
        return found

    def modes(self) -> Iterator[str]:
        register = self.dump.processor.by_name("MODE")
        known = register is not None and register.id in self.dump.hardware
        for value in register.decode(self.dump.hardware[register.id]) if register and known else ():
            if value.row.parts:
                yield f"{value.row.text}: {value.meaning}"
            elif value.row.flags:
                yield f"{value.row.text}: {value.meaning}"
            elif value.value and value.row.text:
                yield value.row.text
        yield from self.trap_control()

    def trap_control(self) -> Iterator[str]:
        """gfx12: the enables have a register of their own."""
        register = self.dump.processor.by_name("TRAP_CTRL")
        if register is not None and register.id in self.dump.hardware:
            values = register.decode(self.dump.hardware[register.id])
            names = [v.row.text.removesuffix(" traps") for v in values if v.value]
            yield f"exceptions that trap: {', '.join(names) or 'none'}"


def _named(causes: list[WaveStopCause], name: str) -> bool:
    return any(cause.name == name for cause in causes)
