"""Traps: info trap, info esr, info sm port; trap handler, stop, step, preempt, option, port."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.views import text as views
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
def info_trap(session: DebugSession, argument: str) -> Output:
    """Handler and warps."""
    unit = session.grid.traps
    placed = unit.handler
    lines, data = [], {}
    if placed is None:
        lines.append("no trap handler: a trap stops the debugger")
    else:
        path = placed.handler.program.path
        file = PurePath(path).name
        lines.append(f"trap handler {placed.handler.name} ({file}) at 0x{placed.entry:x}")
        lines.append(
            f"    save area 0x{placed.area.base:x}, 0x{placed.record:x} bytes a warp; "
            f"data 0x{placed.data.base:x}"
        )
        data["handler"] = {
            "name": placed.handler.name,
            "path": path,
            "entry": placed.entry,
            "area": placed.area.base,
            "record": placed.record,
            "data": placed.data.base,
        }
    data["options"] = unit.options.to_json()
    sms, warps = [], []
    for sm in session.grid.sms:
        trap = sm.trap
        if trap.entries or trap.returns:
            lines.append(f"SM {sm.index}: {trap.entries} entries, {trap.returns} returns")
        sms.append({"sm": sm.index, "entries": trap.entries, "returns": trap.returns})
    for warp in session.grid.warps():
        state = unit.state(warp)
        if any(state[k] for k in ("in_handler", "status", "paused", "trapped", "critical")):
            lines += trap_views.warp_lines(session, state)
            warps.append(state)
    return Output(tuple(lines), {**data, "sms": sms, "warps": warps})


@command(
    "info esr",
    usage="info esr [SM]",
    help="error status: what handler code reads (SR64, SR66) and what the host reads, bit by bit",
    group="status",
    needs="nothing",
)
def info_esr(session: DebugSession, argument: str) -> Output:
    """Status words of an SM and of the focused warp."""
    number = _sm(session, argument)
    sm, unit, port = session.grid.sms[number], session.grid.traps, session.traps.port
    words = [("SR_GlobalErrorStatus", unit.global_status(sm))]
    if session.focus is not None and session.focus.sm == number:
        words.append(("SR_WarpErrorStatus", unit.warp_status(session.warp().state)))
    words += [(n, port.peek(number, n)) for n in REGISTERS if n.startswith("HWW_")]
    lines, data = [trap_views.place(session, number)], {}
    arch = session.grid.gpu.arch
    for name, value in words:
        data[name] = value
        if not value:
            lines.append(f"{name} = 0x00000000")
        elif name == "HWW_WARP_ESR_PC":
            lines.append(f"{name} = 0x{value:08x}  {session.symbols.describe_line(value)}")
        elif name.endswith("MASK"):
            lines.append(f"{name} = 0x{value:08x}  {trap_views.brief(name, value, arch)}")
        else:
            lines += explain_esr(name, value, arch).lines()
    return Output(tuple(lines), {"sm": number, **data})


@command(
    "info sm",
    usage="info sm port [SM] [log [N]]",
    help="the debugger port of an SM: registers decoded, and the log of accesses",
    group="status",
    needs="nothing",
    details="Without `port`: as `info sms`.",
)
def info_sm(session: DebugSession, argument: str) -> Output:
    """The port, or the table of SMs."""
    words = argument.split()
    if not words or not "port".startswith(words[0]):
        return session.command(f"info sms {argument}".strip())
    rest, count = words[1:], LOG_LINES
    only_log = "log" in rest
    if only_log:
        at = rest.index("log")
        if rest[at + 1 :]:
            count = parse_int(rest[at + 1], "count")
        rest = rest[:at]
    number = _sm(session, " ".join(rest))
    log = list(session.traps.port.latest(count))
    lines: list[str] = []
    data: dict[str, Any] = {"sm": number}
    if not only_log:
        rows, data["registers"] = trap_views.port_rows(session, number)
        lines = [f"debugger port of {trap_views.place(session, number)}"]
        lines += views.table(("Register", "Address", "Value", "Fields"), rows)
    lines += ["log of the port:", *(trap_views.log_line(session, a) for a in log)]
    data["log"] = [trap_views.access_json(session, a) for a in log]
    return Output(tuple(lines), data)


# ---- trap ------------------------------------------------------------------------------
@command(
    "trap handler",
    usage="trap handler FILE [ENTRY] | off",
    help="install a trap handler: a .sass file, a cubin or raw words; `off` takes it away",
    group="traps",
)
def trap_handler(session: DebugSession, argument: str) -> Output:
    """Install or remove the handler."""
    words = argument.split()
    if not words or len(words) > 2:
        raise CommandError("a file is missing", "trap handler FILE [ENTRY], or trap handler off")
    if words == ["off"]:
        session.traps.remove()
        return Output(("no trap handler: a trap stops the debugger",), None)
    handler = session.traps.install(words[0], words[1] if len(words) > 1 else None)
    placed = session.grid.traps.handler
    assert placed is not None
    text = f"trap handler {handler.name} at 0x{placed.entry:x}; `info trap` shows its memory"
    return Output((text,), {"name": handler.name, "entry": placed.entry})


@command(
    "trap argument",
    usage="trap argument N",
    help="the number that the trap handler finds at c[0x11][0x20]",
    group="traps",
)
def trap_argument(session: DebugSession, argument: str) -> Output:
    """Set c[0x11][0x20]."""
    number = parse_int(argument, "number") & 0xFFFF_FFFF
    session.traps.set_argument(number)
    return Output((f"c[0x11][0x20] = 0x{number:x}",), number)


@command(
    "trap stop",
    usage="trap stop [SM]",
    help="set STOP_TRIGGER on a running SM: its warps enter the trap handler",
    group="traps",
    needs="stopped",
)
def trap_stop(session: DebugSession, argument: str) -> Output:
    """A stop request as warps see it."""
    number = _sm(session, argument)
    before = session.grid.sms[number].trap.entries
    session.traps.driver.request_stop(number)
    entered = session.grid.sms[number].trap.entries - before
    if session.grid.traps.handler is None:
        return Output(("no trap handler: the SM only locks down",), {"entered": 0})
    words = "1 warp is" if entered == 1 else f"{entered} warps are"
    return Output((f"{words} in the trap handler of SM {number}",), {"entered": entered})


@command(
    "trap step",
    usage="trap step on|off",
    help="keep the SMs in single-step mode when the machine runs",
    group="traps",
)
def trap_step(session: DebugSession, argument: str) -> Output:
    """Hold single-step mode."""
    if argument not in ("on", "off"):
        raise CommandError(f"trap step {argument!r}", "on or off")
    session.traps.driver.set_step_mode(argument == "on")
    return Output((f"single-step mode is {argument} while the machine runs",), argument == "on")


@command(
    "trap preempt",
    usage="trap preempt save|restore|off [SM]",
    help="preempt an SM: SR_GlobalErrorStatus.Preemption is set, its warps enter the handler",
    group="traps",
    needs="stopped",
)
def trap_preempt(session: DebugSession, argument: str) -> Output:
    """Preemption as the handler sees it."""
    word, _, rest = argument.partition(" ")
    if word not in _STATES:
        raise CommandError(f"trap preempt {word!r}", "save, restore or off")
    number = _sm(session, rest)
    sm = session.grid.sms[number]
    before = sm.trap.entries
    session.grid.traps.request_preemption(sm, _STATES[word])
    entered = sm.trap.entries - before
    text = f"SM {number}: preemption {word}, {entered} warps enter the trap handler"
    return Output((text,), {"sm": number, "state": word, "entered": entered})


@command(
    "trap option",
    usage="trap option [NAME VALUE]",
    help="which reading holds where public texts leave a choice (`info policy` says why)",
    group="traps",
    completer=lambda s, text: [n.replace("_", "-") for n in OPTION_NAMES if n.startswith(text)],
)
def trap_option(session: DebugSession, argument: str) -> Output:
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
    rows = []
    for name, value in options.to_json().items():
        choices = ", ".join(OPTION_CHOICES.get(name, ("a number",)))
        rows.append((name.replace("_", "-"), str(value), choices))
    return Output(tuple(views.table(("Option", "Value", "Choices"), rows)), options.to_json())


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
def trap_port(session: DebugSession, argument: str) -> Output:
    """Raw access, logged as every other."""
    words = argument.split()
    port, arch = session.traps.port, session.grid.gpu.arch
    try:
        match words:
            case ["read", name, *rest]:
                place = _register(name)
                if isinstance(place, int):
                    value = port.read_address(place)
                    return Output((f"0x{value:08x}",), value)
                value = port.read(_sm(session, " ".join(rest)), place)
                text = trap_views.brief(place, value, arch)
                return Output((f"{place} = 0x{value:08x}  {text}".rstrip(),), value)
            case ["write", name, number, *rest]:
                _write(session, _register(name), parse_int(number, "value"), " ".join(rest))
                return Output((), None)
    except UsageError as error:
        raise CommandError(error.message, error.hint) from None
    raise CommandError(f"trap port {argument}", "read REGISTER [SM], or write REGISTER VALUE [SM]")


def _write(session: DebugSession, place: str | int, value: int, where: str) -> None:
    port = session.traps.port
    if isinstance(place, int):
        port.write_address(place, value)
    elif where == "all":
        port.broadcast(place, value)
    else:
        port.write(_sm(session, where), place, value)
    if place == "DBGR_CONTROL0":
        session.traps.driver.hold_step = bool(value & DbgrControl0.SINGLE_STEP_MODE)
