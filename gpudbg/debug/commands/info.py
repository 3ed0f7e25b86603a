"""Status: info warps, lanes, registers, kernels, sms, blocks, threads, policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpudbg.answers.words import dim, lane_list
from gpudbg.debug import snapshot
from gpudbg.debug.commands.table import command
from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.registry import Output
from gpudbg.debug.stops.spinning import spins
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.values.never_written import WORDS, untouched_registers
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views import text as views
from gpudbg.debug.views.format import float_of, float_text, parse_int, split_spec
from gpudbg.errors import CommandError
from gpudbg.expr.types import VOID

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], data: Any) -> Output:
    return Output(tuple(views.table(header, rows)), data)


@command(
    "info warps",
    "info w",
    usage="info warps [all|CONDITION]",
    help="resident warps: block, pc, state, lanes, and why one does not run",
    group="status",
    details="CONDITION is an expression; warps with an active lane where it holds are shown.",
)
def info_warps(session: DebugSession, argument: str) -> Output:
    """List warps."""
    spins(session)
    rows, data = [], []
    condition = argument.strip() if argument.strip() != "all" else ""
    for state in session.warps_where(condition):
        w = snapshot.warp_row(session, state)
        focus = session.focus is not None and (session.focus.sm, session.focus.warp) == (
            w.sm,
            w.slot,
        )
        rows.append(
            (
                "*" if focus else "",
                str(w.sm),
                str(w.slot),
                dim(w.block),
                session.symbols.short(w.pc),
                w.state,
                views.lane_marks(w),
                str(w.executed),
                w.why,
            )
        )
        data.append(
            {
                "sm": w.sm,
                "warp": w.slot,
                "block": list(w.block),
                "pc": w.offset,
                "where": w.where,
                "state": w.state,
                "valid": w.valid,
                "active": w.active,
                "exited": w.exited,
                "instructions": w.executed,
                "stack_depth": w.depth,
                "why": w.why,
                "focus": focus,
            }
        )
    if not rows:
        return Output(("no such warp is resident",), data)
    header = ("", "SM", "Warp", "Block", "PC", "State", "Lanes 0..31", "Insns", "Why not running")
    return _table(header, rows, data)


@command(
    "info lanes",
    "info la",
    usage="info lanes",
    help="lanes of the focused warp",
    group="status",
    needs="stopped",
)
def info_lanes(session: DebugSession, argument: str) -> Output:
    """List lanes."""
    assert session.focus is not None
    state = session.warp().state
    rows, data = [], []
    for lane in range(32):
        bit = 1 << lane
        if not state.valid & bit:
            continue
        word = "exited" if state.exited & bit else "active" if state.active & bit else "inactive"
        thread = thread_of(state, lane)
        predicates = "".join(str(int(p) >> lane & 1) for p in list(state.predicates)[:7])
        rows.append(
            ("*" if lane == session.focus.lane else "", str(lane), word, dim(thread), predicates)
        )
        data.append({"lane": lane, "state": word, "thread": list(thread), "predicates": predicates})
    return _table(("", "Lane", "State", "Thread", "P0-P6"), rows, data)


@command(
    "info registers",
    "info r",
    "info all-registers",
    usage="info registers[/x|/d|/f] [R4 P0 …]",
    help="registers of the focused lane, with what the other lanes hold",
    group="status",
    needs="stopped",
)
def info_registers(session: DebugSession, argument: str) -> Output:
    """List registers."""
    spec, text = split_spec(argument)
    assert session.focus is not None
    words = text.replace(",", " ").split()
    if gdb_text.wanted(session):
        rows = gdb_text.register_rows(session, words, spec.letter)
        return Output(tuple(text for _, text, _ in rows), {n: value for n, _, value in rows})
    return _register_table(session, [w.lstrip("$") for w in words], spec.letter)


def _register_table(session: DebugSession, wanted: list[str], letter: str | None) -> Output:
    assert session.focus is not None
    lane = session.focus.lane
    state = session.warp().state
    rows: list[tuple[str, ...]] = []
    data: dict[str, Any] = {}
    count = int(state.R.shape[0])
    mask = untouched_registers(session)
    untouched = {i for i in range(count) if mask >> i & 1}
    for name in wanted or [f"R{i}" for i in range(count)]:
        if name[:1] in "Rr" and name[1:].isdecimal():
            name = name.upper()
            values = session.context().register(parse_int(name[1:], "register"))
            bits = int(values[lane])
            shown = _register_text(bits, letter)
            never = parse_int(name[1:], "register") in untouched and not values.any()
            words = WORDS if never else views.shape_words(values, state.active)
            rows.append((name, *shown, words))
            data[name] = bits
        else:
            result = session.evaluate("$" + name)
            if result.type == VOID:
                raise CommandError(f"Invalid register `{name}'")
            rows.append((name, views.value_text(result, lane, letter), "", ""))
            data[name] = result.values[lane].item()
    if not wanted:
        for i in range(7):
            mask = int(state.predicates[i])
            words = f"lanes {lane_list(mask & state.active)}"
            rows.append((f"P{i}", "true" if mask >> lane & 1 else "false", "", words))
            data[f"P{i}"] = bool(mask >> lane & 1)
        flags = "".join(f for i, f in enumerate("ZSCO") if int(state.cc[i]) >> lane & 1) or "-"
        rows.append(("CC", flags, "", ""))
        data["CC"] = flags
        rows.append(
            (
                "pc",
                f"0x{session.shown_pc(standing_pc(session, state)):x}",
                "",
                session.symbols.describe_line(standing_pc(session, state)),
            )
        )
        data["pc"] = session.symbols.offset(standing_pc(session, state))
    header = ("", f"lane {lane}", "", "active lanes")
    return _table(header, rows, data)


def _register_text(bits: int, letter: str | None) -> tuple[str, str]:
    from gpudbg.debug.views.format import format_bits

    if letter:
        return format_bits(bits, 4, letter), ""
    value = float_of(bits, 4)
    as_float = float_text(value, 4) if bits and 1e-6 < abs(value) < 1e9 else ""
    signed = bits - (1 << 32) if bits >> 31 else bits
    return f"0x{bits:08x}", f"{signed}" + (f"  {as_float}f" if as_float else "")


@command(
    "info kernels",
    "info functions",
    help="kernels and functions of the program",
    group="status",
    needs="nothing",
)
def info_kernels(session: DebugSession, argument: str) -> Output:
    """List kernels."""
    rows, data = [], []
    for k in session.program.kernels.values():
        current = "*" if k.name == session.kernel.name else ""
        sizes = " ".join(str(p.size) for p in k.params) or "-"
        rows.append(
            (
                current,
                k.name,
                str(k.num_regs),
                sizes,
                str(k.shared_static_bytes),
                str(k.local_bytes),
            )
        )
        data.append(
            {
                "name": k.name,
                "registers": k.num_regs,
                "parameters": [p.size for p in k.params],
                "shared_bytes": k.shared_static_bytes,
                "local_bytes": k.local_bytes,
                "current": bool(current),
            }
        )
    for name in session.program.elsewhere:
        # In another cubin of the file: it is read when it is chosen.
        rows.append(("", name, "", "", "", ""))
        data.append({"name": name, "current": False})
    return _table(("", "Kernel", "Regs", "Parameter bytes", "Shared", "Local"), rows, data)


@command("info sms", help="SMs and how full they are", group="status")
def info_sms(session: DebugSession, argument: str) -> Output:
    """List SMs."""
    rows, data = [], []
    for sm in session.grid.sms:
        warps = list(sm.resident())
        ctas = sum(1 for c in sm.ctas if c is not None)
        ready = sum(1 for w in warps if w.status == "ready")
        rows.append((str(sm.index), str(ctas), str(len(warps)), str(ready)))
        data.append({"sm": sm.index, "ctas": ctas, "warps": len(warps), "ready": ready})
    return _table(("SM", "CTAs", "Warps", "Ready"), rows, data)


@command("info blocks", "info ctas", help="resident blocks", group="status")
def info_blocks(session: DebugSession, argument: str) -> Output:
    """List blocks."""
    grid = session.grid
    seen: dict[tuple[int, tuple[int, int, int]], list[Any]] = {}
    for w in grid.warps():
        seen.setdefault((w.sm, w.cta.block), []).append(w)
    rows, data = [], []
    for (sm, block), warps in seen.items():
        states = {s: sum(1 for w in warps if w.status == s) for s in {w.status for w in warps}}
        words = ", ".join(f"{n} {s}" for s, n in sorted(states.items()))
        rows.append((dim(block), str(sm), " ".join(str(w.slot) for w in warps), words))
        data.append(
            {"block": list(block), "sm": sm, "warps": [w.slot for w in warps], "states": states}
        )
    total = grid.grid[0] * grid.grid[1] * grid.grid[2]
    tail = f"{grid.ctas_done} of {total} done, {grid.ctas_waiting} not begun"
    out = views.table(("Block", "SM", "Warps", "State"), rows)
    return Output((*out, tail), data)


@command(
    "info threads",
    usage="info threads [BLOCK]",
    help="threads grouped by place, as cuda-gdb does",
    group="status",
)
def info_threads(session: DebugSession, argument: str) -> Output:
    """Threads of resident blocks, grouped by block and pc."""
    rows, data = [], []
    for w in session.grid.warps():
        live = w.valid & ~w.exited
        if not live:
            continue
        groups = [("running", w.active)]
        groups += [(f"waiting ({kind})", mask & live & ~w.active) for kind, mask, _ in w.stack]
        shown = 0
        for word, mask in groups:
            mask &= live & ~shown
            if not mask:
                continue
            shown |= mask
            lanes = [i for i in range(32) if mask >> i & 1]
            low, high = thread_of(w, lanes[0]), thread_of(w, lanes[-1])
            place = (
                session.symbols.describe_line(standing_pc(session, w)) if word == "running" else ""
            )
            rows.append(
                (dim(w.cta.block), f"{dim(low)}..{dim(high)}", str(len(lanes)), word, place)
            )
            data.append(
                {
                    "block": list(w.cta.block),
                    "from": list(low),
                    "to": list(high),
                    "count": len(lanes),
                    "state": word,
                    "pc": session.symbols.offset(standing_pc(session, w))
                    if word == "running"
                    else None,
                }
            )
    if not rows:
        return Output(("no thread is running",), data)
    return _table(("Block", "Threads", "Count", "State", "Where"), rows, data)


@command(
    "info stack",
    "info s",
    "info divergence",
    help="divergence stack of the focused warp: who waits for what",
    group="status",
    needs="stopped",
)
def info_stack(session: DebugSession, argument: str) -> Output:
    """Show the divergence stack, top first."""
    state = session.warp().state
    rows = [
        (
            "now",
            lane_list(state.active),
            session.symbols.describe_line(standing_pc(session, state)),
        )
    ]
    data: list[dict[str, Any]] = [
        {
            "kind": "now",
            "mask": state.active,
            "target": session.symbols.offset(standing_pc(session, state)),
        }
    ]
    for kind, mask, target in reversed(list(state.stack)):
        rows.append((str(kind), lane_list(int(mask)), session.symbols.describe_line(int(target))))
        data.append(
            {"kind": str(kind), "mask": int(mask), "target": session.symbols.offset(int(target))}
        )
    return _table(("Token", "Lanes", "Goes to"), rows, data)


@command("info barriers", help="barriers of the focused block", group="status", needs="stopped")
def info_barriers(session: DebugSession, argument: str) -> Output:
    """Who waits at which barrier."""
    cta = session.warp().state.cta
    waiting = [w for w in cta.warps if w.status == "barrier"]
    lines = [f"warp {w.slot}: {snapshot.barrier_words(session, w)}" for w in waiting]
    data = [{"warp": w.slot, "why": snapshot.barrier_words(session, w)} for w in waiting]
    return Output(tuple(lines or ["no warp of this block waits at a barrier"]), data)


@command("info program", help="how the launch stands", group="status")
def info_program(session: DebugSession, argument: str) -> Output:
    """Launch, progress and the last stop."""
    grid = session.grid
    stop = session.stop
    total = grid.grid[0] * grid.grid[1] * grid.grid[2]
    lines = [
        f"{session.program.path}  {session.program.arch}",
        f"{session.symbols.kernel_name} grid {dim(grid.grid)} block {dim(grid.block)}",
        f"{grid.ctas_done} of {total} blocks done, {grid.total:,} warp instructions",
        stop.message if stop else "",
    ]
    return Output(tuple(lines), stop.to_json() if stop else None)


@command("info allocations", "info memory", help="device memory: every allocation", group="status")
def info_allocations(session: DebugSession, argument: str) -> Output:
    """List allocations."""
    rows, data = [], []
    for a in session.allocations():
        rows.append((f"0x{a.base:x}", f"0x{a.base + a.size:x}", str(a.size), a.name))
        data.append({"base": a.base, "size": a.size, "name": a.name})
    return _table(("Begin", "End", "Bytes", "What"), rows, data)


@command(
    "info stops",
    "info history",
    help="earlier stops of this session",
    group="status",
    needs="nothing",
)
def info_stops(session: DebugSession, argument: str) -> Output:
    """List stops."""
    data = [s.to_json() for s in session.stops]
    rows = enumerate(session.stops, session.stops.first)
    lines = [f"{i:3}  {s.instructions:>10,}  {s.message}" for i, s in rows]
    return Output(tuple(lines), data)


@command(
    "info policy",
    help="what the model assumes where public documents are silent",
    group="status",
    needs="nothing",
)
def info_policy(session: DebugSession, argument: str) -> Output:
    """List policies."""
    from gpudbg.sm.policy import POLICIES

    word = argument.strip().lower()
    rows = [p for p in POLICIES if word in f"{p.name} {p.rule}".lower()]
    if not rows:
        raise CommandError(f"no policy speaks of {word!r}")
    lines: list[str] = []
    for p in rows:
        lines += [f"{p.name}  [{p.certainty}]", f"    {p.rule}", f"    why: {p.reason}"]
    data = [
        {"name": p.name, "certainty": p.certainty, "rule": p.rule, "reason": p.reason} for p in rows
    ]
    return Output(tuple(lines), data)
