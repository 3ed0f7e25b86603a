"""Call frames of a warp: calls by their return addresses, inlined calls from the lines.

Up to sm_62 a CAL leaves a RET token with the return address on the divergence stack (the ABI's
return stack).  From sm_70 on return addresses are in registers or on the stack of each lane: the
frames are the focused lane's, in other warps those of the lanes that run next.  Every return
address is a physical frame; the line table says which calls were inlined at a pc, and each of them
is a frame of its own above the function that swallowed it.  Frame 0 is the innermost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.standing import in_machine_function, standing_pc
from gpudbg.debug.symbols import Line
from gpudbg.debug.values.lane_groups import group_of, shown_group, shown_lane
from gpudbg.debug.values.unwinding import return_addresses
from gpudbg.isa.family import decode
from gpudbg.sm.cfg import FLOW

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState


@dataclass(frozen=True, slots=True)
class Frame:
    """One call frame.

    Attributes:
        level: 0 is the innermost.
        pc: code address where the frame goes on (the return address above level 0).
        function: its name.
        line: source line, or None.
        physical: CAL depth; frames inlined into each other share it.
        inlined: the frame has no call of its own.
        own: it is the kernel's own: of its code, and not that of a function whose caller is not
            found.
        passed: pcs, innermost first, of calls between the frame within and this one that the
            source does not have: constructors of base classes that go on to the whole object's.
    """

    level: int
    pc: int
    function: str
    line: Line | None
    physical: int
    inlined: bool
    own: bool
    passed: tuple[int, ...] = ()


def frames(inferior: Inferior, warp: WarpState | None = None) -> tuple[Frame, ...]:
    """The frames of a warp (the focused one), innermost first.

    Call sites that a line step has not entered yet (`session.skipped_inline`) are left out for
    the focused warp, so that a step shows the line that calls before the one that is called.
    """
    warp = warp or inferior.focused()
    focus = inferior.focus
    returns = _returns(inferior, warp)
    returns = returns[1:] if in_machine_function(inferior, warp) else returns
    out: list[Frame] = []
    depth = len(returns)
    passed: tuple[int, ...] = ()
    for physical, pc in enumerate([standing_pc(inferior, warp), *returns]):
        # A return address lies behind its call: the line is that of the call.
        rows = _inline_rows(
            inferior.symbols, pc if physical == 0 else inferior.symbols.layout.before(pc)
        )
        in_focus = focus is not None and (focus.sm, focus.warp) == (warp.sm, warp.slot)
        if physical == 0 and in_focus:
            rows = rows[min(inferior.skipped_inline, len(rows) - 1) :]
        there = inferior.symbols.image.function_at(pc)
        if (
            out
            and there
            and rows[0][1] is None
            and _goes_on_to(there[0].name, out[-1].pc, inferior)
        ):
            passed += (pc,)
            continue
        kernel = physical == depth and (there is None or there[0].is_kernel)
        for n, (function, line) in enumerate(rows):
            inlined = n < len(rows) - 1
            own = kernel and not inlined
            level, between = len(out), () if n else passed
            out.append(Frame(level, pc, function, line, depth - physical, inlined, own, between))
        passed = ()
    return tuple(out)


def _goes_on_to(caller: str, pc: int, inferior: Inferior) -> bool:
    """Whether a function is the base-object constructor or destructor (`C2`, `D2`) whose code is
    the call of the complete one (`C1`, `D1`) that a pc is in, or the other way round."""
    called = inferior.symbols.image.function_at(pc)
    name = called[0].name if called else ""
    return caller != name and _either(caller) == _either(name)


def _either(name: str) -> str:
    """A mangled name with the variants of a constructor or destructor as one."""
    return re.sub(r"(?<=[a-zE])([CD])[12](?=E)", r"\1", name) if name.startswith("_ZN") else name


def selected_frame(inferior: Inferior) -> Frame:
    """The frame that `up`, `down` and `frame` chose; the innermost one otherwise."""
    rows = frames(inferior)
    return rows[min(inferior.frame_level, len(rows) - 1)]


def selected_pc(inferior: Inferior) -> int:
    """Where the selected frame goes on: what `$pc` is, and what commands without a place mean."""
    if inferior.frame_level == 0:
        return standing_pc(inferior, inferior.focused())
    return selected_frame(inferior).pc


def selected_line(inferior: Inferior) -> Line | None:
    """The source line of the selected frame: of its call, where it waits for one."""
    if inferior.frame_level == 0:
        return inferior.symbols.line(standing_pc(inferior, inferior.focused()))
    return selected_frame(inferior).line


def _inline_rows(symbols: Symbols, pc: int) -> list[tuple[str, Line | None]]:
    """(function, line) of a pc, innermost first."""
    line = symbols.line(pc)
    name = symbols.function(pc) or symbols.describe(pc)
    rows: list[tuple[str, Line | None]] = []
    for call in symbols.calls(pc):
        rows.append((call.function or name, line))
        line = call.line
    rows.append((name, line))
    return rows


def _returns(inferior: Inferior, warp: WarpState) -> list[int]:
    """Return addresses of the calls a warp is in, the innermost first."""
    group = shown_group(inferior, warp)
    if group is None:
        found = [int(target) for kind, _, target in reversed(warp.stack) if kind == "RET"]
        return found[1:] if found and call_prepared(inferior.symbols, warp.pc) else found
    return return_addresses(
        inferior.symbols,
        warp,
        shown_lane(inferior, warp, group),
        inferior.symbols.layout.first(group.pc),
    )


_PREPARED: WeakKeyDictionary[Symbols, dict[int, bool]] = WeakKeyDictionary()
"""By pc, what `call_prepared` has found."""


def call_prepared(symbols: Symbols, pc: int) -> bool:
    """Whether a pc is behind a `PRET`, which leaves a return address, and at or before the jump
    into the function: a call through a pointer that has not gone there yet."""
    known = _PREPARED.setdefault(symbols, {})
    if pc not in known:
        at, op = symbols.layout.before(symbols.layout.first(pc)), ""
        while (line := symbols.instruction(at)) is not None and line.legal:
            op = decode(line.word, symbols.program.arch).op
            if op in FLOW or op == "PRET":
                break
            at = symbols.layout.before(at)
        known[pc] = op == "PRET"
    return known[pc]


def call_depth(inferior: Inferior, warp: WarpState) -> int:
    """How many calls the warp is in; from sm_70 on, those of the lane it is shown by."""
    return len(_returns(inferior, warp))


def lane_depth(inferior: Inferior, warp: WarpState, lane: int) -> int:
    """How many calls a lane is in; up to sm_62, where lanes return together, its warp."""
    group = group_of(warp, lane) if warp.has_groups else None
    if group is None:
        tokens = sum(1 for entry in warp.stack if entry[0] == "RET")
        return tokens - (tokens > 0 and call_prepared(inferior.symbols, warp.pc))
    symbols = inferior.symbols
    return len(return_addresses(symbols, warp, lane, symbols.layout.first(group.pc)))


def waiting_pc(inferior: Inferior, warp: WarpState, lane: int) -> int:
    """Where a lane goes on: its group's pc; up to sm_62 the warp's when it is active, else the
    target of its divergence token."""
    first = inferior.symbols.layout.first
    if warp.has_groups:
        group = group_of(warp, lane)
        return first(warp.pc if group is None else group.pc)
    if warp.active >> lane & 1:
        return first(warp.pc)
    for _, mask, target in reversed(warp.stack):
        if mask >> lane & 1:
            return first(int(target))
    return first(warp.pc)
