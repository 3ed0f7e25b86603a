"""Traps: info trap, info esr, info sm port; trap handler, stop, step, preempt, option, port."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gpudbg.answers import (
    NOTHING,
    Answer,
    Card,
    Notice,
    Table,
    column,
    computed,
    lines_of,
    typed_row,
)
from gpudbg.answers.formats import ABSENT, ROWS
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.table import command
from gpudbg.debug.views import traps as trap_views
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError, UsageError
from gpudbg.regs.explain import explain_esr
from gpudbg.regs.port import DbgrControl0, find_word
from gpudbg.sm.port import COUNTER_STATUS, REGISTERS
from gpudbg.sm.trap.options import OPTION_CHOICES, OPTION_NAMES

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

LOG_LINES = 20
_STATES = {"off": 0, "save": 1, "restore": 2}


def _sm(session: DebugSession, text: str) -> int:
    """An SM's number, as text; the focused one when empty."""
    word = text.strip().lower().removeprefix("sm").strip()
    if not word:
        return session.focus.sm if session.focus is not None else 0
    number = parse_int(word, "SM")
    if not 0 <= number < len(session.grid.sms):
        raise CommandError(f"there is no SM {number}", f"0 to {len(session.grid.sms) - 1}")
    return number


@command(
    "info trap",
    "info traps",
    usage="info trap",
    help="trap handler, options, and every warp that has trapped: cause, saved pc and lanes",
    group="status",
    needs="nothing",
)
def info_trap(session: DebugSession, argument: str) -> Card:
    """Handler and warps."""
    unit = session.grid.traps
    placed = unit.handler
    states = (unit.state(warp) for warp in session.grid.warps())
    found = TrapOverview(
        handler=ABSENT
        if placed is None
        else HandlerRow(
            placed.handler.name,
            placed.handler.program.path,
            placed.entry,
            placed.area.base,
            placed.record,
            placed.data.base,
        ),
        options=unit.options.to_json(),
        sms=tuple(SmTraps(sm.index, sm.trap.entries, sm.trap.returns) for sm in session.grid.sms),
        warps=tuple(
            TrappedWarp(state, tuple(trap_views.warp_lines(session, state)))
            for state in states
            if any(state[k] for k in ("in_handler", "status", "paused", "trapped", "critical"))
        ),
    )
    return Card(found, TrapOverview.lines)


@typed_row
class HandlerRow:
    """The installed trap handler and its memory."""

    name: str = column()
    path: str = column()
    entry: int = column()
    area: int = column()
    record: int = column()
    data: int = column()

    def lines(self) -> list[str]:
        """The handler for people."""
        return [
            f"trap handler {self.name} ({PurePath(self.path).name}) at 0x{self.entry:x}",
            f"    save area 0x{self.area:x}, 0x{self.record:x} bytes a warp; data 0x{self.data:x}",
        ]


@typed_row
class SmTraps:
    """How often an SM's warps entered the handler and left it."""

    sm: int = column()
    entries: int = column()
    returns: int = column()

    def __str__(self) -> str:
        return f"SM {self.sm}: {self.entries} entries, {self.returns} returns"


@dataclass(frozen=True, slots=True)
class TrappedWarp:
    """A warp that has trapped: its state, and the lines that say it."""

    state: dict[str, Any]
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The state."""
        return self.state


@typed_row
class TrapOverview:
    """Handler, options, SMs, and every warp that has trapped."""

    handler: HandlerRow = column(None, ROWS)
    options: dict[str, Any] = column()
    sms: tuple[SmTraps, ...] = column(None, ROWS)
    warps: tuple[TrappedWarp, ...] = column(None, ROWS)

    def lines(self) -> list[str]:
        """All of it for people."""
        handler = [NO_HANDLER] if self.handler is ABSENT else self.handler.lines()
        sms = [str(sm) for sm in self.sms if sm.entries or sm.returns]
        return [*handler, *sms, *(line for warp in self.warps for line in warp.lines)]


NO_HANDLER = "no trap handler: a trap stops the debugger"


@command(
    "info esr",
    usage="info esr [SM]",
    help="error status: what handler code reads (SR64, SR66) and what the host reads, bit by bit",
    group="status",
    needs="nothing",
)
def info_esr(session: DebugSession, argument: str) -> Card:
    """Status words of an SM and of the focused warp."""
    number = _sm(session, argument)
    sm, unit, port = session.grid.sms[number], session.grid.traps, session.traps.port
    words = [("SR_GlobalErrorStatus", unit.global_status(sm))]
    if session.focus is not None and session.focus.sm == number:
        words.append(("SR_WarpErrorStatus", unit.warp_status(session.warp().state)))
    words += [(n, port.peek(number, n)) for n in REGISTERS if n.startswith("HWW_")]
    rows = (StatusRow(name, value, _status(session, name, value)) for name, value in words)
    return Card(SmStatus(number, trap_views.place(session, number), tuple(rows)), SmStatus.lines)


@dataclass(frozen=True, slots=True)
class StatusRow:
    """An error status word, explained."""

    name: str
    value: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SmStatus:
    """The error status words of an SM."""

    sm: int
    place: str
    words: tuple[StatusRow, ...]

    def lines(self) -> list[str]:
        """The words for people."""
        return [self.place, *(line for word in self.words for line in word.lines)]

    def to_json(self) -> dict[str, int]:
        """The words by name."""
        return {"sm": self.sm, **{word.name: word.value for word in self.words}}


def _status(session: DebugSession, name: str, value: int) -> tuple[str, ...]:
    arch = session.grid.gpu.arch
    if not value:
        return (f"{name} = 0x00000000",)
    if name == "HWW_WARP_ESR_PC":
        return (f"{name} = 0x{value:08x}  {session.symbols.describe_line(value)}",)
    if name.endswith("MASK"):
        return (f"{name} = 0x{value:08x}  {trap_views.brief(name, value, arch)}",)
    return tuple(explain_esr(name, value, arch).lines())


@command(
    "info sm",
    usage="info sm port [SM] [log [N]]",
    help="the debugger port of an SM: registers decoded, and the log of accesses",
    group="status",
    needs="nothing",
    details="Without `port`: as `info sms`.",
)
def info_sm(session: DebugSession, argument: str) -> Answer:
    """The port, or the table of SMs."""
    words = argument.split()
    if not words or not "port".startswith(words[0]):
        return session.command(f"info sms {argument}".strip()).answer
    rest, count = words[1:], LOG_LINES
    only_log = "log" in rest
    if only_log:
        at = rest.index("log")
        if rest[at + 1 :]:
            count = parse_int(rest[at + 1], "count")
        rest = rest[:at]
    number = _sm(session, " ".join(rest))
    found = PortState(
        sm=number,
        registers=ABSENT if only_log else trap_views.port_rows(session, number),
        log=trap_views.log_rows(session, count),
        place=trap_views.place(session, number),
    )
    return Card(found, PortState.lines)


@typed_row
class PortState:
    """The debugger port of an SM: its registers, and the log of accesses."""

    sm: int = column()
    registers: tuple[trap_views.PortRow, ...] = column(None, ROWS)
    log: tuple[trap_views.LogRow, ...] = column(None, ROWS)
    place: str = column(key="")

    def lines(self) -> list[str]:
        """The port for people."""
        head = []
        if self.registers is not ABSENT:
            title = f"debugger port of {self.place}"
            head = [title, *lines_of(Table(trap_views.PortRow, self.registers))]
        return [*head, "log of the port:", *map(str, self.log)]


# ---- trap ------------------------------------------------------------------------------
@command(
    "trap handler",
    usage="trap handler FILE [ENTRY] | off",
    help="install a trap handler: a .sass file, a cubin or raw words; `off` takes it away",
    group="traps",
)
def trap_handler(session: DebugSession, argument: str) -> Notice:
    """Install or remove the handler."""
    words = argument.split()
    if not words or len(words) > 2:
        raise CommandError("a file is missing", "trap handler FILE [ENTRY], or trap handler off")
    if words == ["off"]:
        session.traps.remove()
        return Notice(NO_HANDLER)
    handler = session.traps.install(words[0], words[1] if len(words) > 1 else None)
    placed = session.grid.traps.handler
    assert placed is not None
    text = f"trap handler {handler.name} at 0x{placed.entry:x}; `info trap` shows its memory"
    return Notice(text, {"name": handler.name, "entry": placed.entry})


@command(
    "trap argument",
    usage="trap argument N",
    help="the number that the trap handler finds at c[0x11][0x20]",
    group="traps",
)
def trap_argument(session: DebugSession, argument: str) -> Notice:
    """Set c[0x11][0x20]."""
    number = parse_int(argument, "number") & 0xFFFF_FFFF
    session.traps.set_argument(number)
    return Notice(f"c[0x11][0x20] = 0x{number:x}", number)


@command(
    "trap stop",
    usage="trap stop [SM]",
    help="set STOP_TRIGGER on a running SM: its warps enter the trap handler",
    group="traps",
    needs="stopped",
)
def trap_stop(session: DebugSession, argument: str) -> Notice:
    """Request a stop by the debugger port, as warps see it."""
    number = _sm(session, argument)
    before = session.grid.sms[number].trap.entries
    session.grid.note_edit()
    session.traps.driver.request_stop(number)
    entered = session.grid.sms[number].trap.entries - before
    if session.grid.traps.handler is None:
        return Notice("no trap handler: the SM only locks down", {"entered": 0})
    words = "1 warp is" if entered == 1 else f"{entered} warps are"
    return Notice(f"{words} in the trap handler of SM {number}", {"entered": entered})


@command(
    "trap step",
    usage="trap step on|off",
    help="keep the SMs in single-step mode when the machine runs",
    group="traps",
)
def trap_step(session: DebugSession, argument: str) -> Notice:
    """Switch single-step mode on or off."""
    if argument not in ("on", "off"):
        raise CommandError(f"trap step {argument!r}", "on or off")
    session.grid.note_edit()
    session.traps.driver.set_step_mode(argument == "on")
    return Notice(f"single-step mode is {argument} while the machine runs", argument == "on")


@command(
    "trap preempt",
    usage="trap preempt save|restore|off [SM]",
    help="preempt an SM: SR_GlobalErrorStatus.Preemption is set, its warps enter the handler",
    group="traps",
    needs="stopped",
)
def trap_preempt(session: DebugSession, argument: str) -> Notice:
    """Request preemption, as the trap handler sees it."""
    word, _, rest = argument.partition(" ")
    if word not in _STATES:
        raise CommandError(f"trap preempt {word!r}", "save, restore or off")
    number = _sm(session, rest)
    sm = session.grid.sms[number]
    before = sm.trap.entries
    session.grid.traps.request_preemption(sm, _STATES[word])
    entered = sm.trap.entries - before
    text = f"SM {number}: preemption {word}, {entered} warps enter the trap handler"
    return Notice(text, {"sm": number, "state": word, "entered": entered})


@command(
    "trap option",
    usage="trap option [NAME VALUE]",
    help="which reading holds where public texts leave a choice (`info policy` says why)",
    group="traps",
    completer=lambda s, text: [n.replace("_", "-") for n in OPTION_NAMES if n.startswith(text)],
)
def trap_option(session: DebugSession, argument: str) -> Table:
    """Show or set options."""
    options = session.grid.traps.options
    words = argument.replace("=", " ").split()
    if words:
        if len(words) != 2:
            raise CommandError("an option and a value are needed", "trap option NAME VALUE")
        try:
            options.set(words[0], words[1])
        except UsageError as error:
            raise CommandError(error.message, error.hint) from None
    rows = (
        OptionRow(name, value, ", ".join(OPTION_CHOICES.get(name, ("a number",))))
        for name, value in options.to_json().items()
    )
    return Table(OptionRow, tuple(rows), by="name", value="value")


@typed_row
class OptionRow:
    """An interpretation chosen where public documents leave a choice."""

    name: str = column()
    spelled = computed("Option", lambda r: r.name.replace("_", "-"))
    value: str | int | bool = column("Value")
    choices: str = column("Choices", key="")


def _register(text: str) -> str | int:
    """A register's name in the port's spelling, or an address."""
    if text.lower().startswith("0x"):
        return parse_int(text, "address")
    upper = text.upper()
    if upper in COUNTER_STATUS:
        return upper
    word = find_word(text)
    if word is None or word.name not in REGISTERS:
        raise CommandError(f"the port has no register {text!r}", ", ".join(REGISTERS))
    return word.name


@command(
    "trap port",
    usage="trap port read REGISTER [SM] | write REGISTER VALUE [SM|all]",
    help="read or write a register of the debugger port, by name or by address",
    group="traps",
    needs="nothing",
)
def trap_port(session: DebugSession, argument: str) -> Notice:
    """Read or write the port directly; logged like every access."""
    words = argument.split()
    port, arch = session.traps.port, session.grid.gpu.arch
    try:
        match words:
            case ["read", name, *rest]:
                place = _register(name)
                if isinstance(place, int):
                    value = port.read_address(place)
                    return Notice(f"0x{value:08x}", value)
                value = port.read(_sm(session, " ".join(rest)), place)
                text = trap_views.brief(place, value, arch)
                return Notice(f"{place} = 0x{value:08x}  {text}".rstrip(), value)
            case ["write", name, number, *rest]:
                _write(session, _register(name), parse_int(number, "value"), " ".join(rest))
                return NOTHING
    except UsageError as error:
        raise CommandError(error.message, error.hint) from None
    raise CommandError(f"trap port {argument}", "read REGISTER [SM], or write REGISTER VALUE [SM]")


def _write(session: DebugSession, place: str | int, value: int, where: str) -> None:
    port = session.traps.port
    session.grid.note_edit()
    if isinstance(place, int):
        port.write_address(place, value)
    elif where == "all":
        port.broadcast(place, value)
    else:
        port.write(_sm(session, where), place, value)
    if place == "DBGR_CONTROL0":
        session.traps.driver.hold_step = bool(value & DbgrControl0.SINGLE_STEP_MODE)
