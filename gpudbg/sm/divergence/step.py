"""The divergence stack as the step engine executes it.

Functions take the pc after the instruction and return the pc to continue at; they change nothing
when they raise.
"""

from __future__ import annotations

from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import FULL
from gpudbg.sm import record as rec
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.record import ACTIVE, DEPTH, EXITED, QUAD, SAVED, STATUS, TOKEN_CODE, VALID
from gpudbg.sm.state import WarpState

CODE_MASK = (1 << 40) - 1
"""Code addresses have 40 bits."""

_DIV = TOKEN_CODE["DIV"]
_PEXIT = TOKEN_CODE["PEXIT"]
_TRAP = TOKEN_CODE["TRAP"]
"""Token below which the interrupted code's stack lies, while the trap handler runs."""

CONSUMERS = {
    "SSY": "SYNC",
    "PBK": "BRK",
    "PCNT": "CONT",
    "RET": "RET",
    "PLONGJMP": "LONGJMP",
    "PEXIT": "EXIT",
}
"""Token kind to the instruction that consumes it."""


def push(warp: WarpState, kind: str, target: int) -> None:
    """Push a token of the active lanes.

    Raises:
        WarpErrorRaised: STACK_OVERFLOW, or PC_WRAP for a target below address 0.
    """
    if target < 0:
        raise _wrapped(warp, target)
    _reserve(warp, 1)
    _push(warp, TOKEN_CODE[kind], warp.words[ACTIVE], target)


def close_for_trap(warp: WarpState, pc: int) -> None:
    """Push the token below which lies the stack of the code that a trap handler interrupts."""
    words = warp.words
    depth = words[rec.TRAP_DEPTH] = words[DEPTH]
    warp.set_entry(depth, _TRAP, words[ACTIVE], pc)
    words[DEPTH] = depth + 1


def reopen_after_trap(warp: WarpState) -> None:
    """Remove the trap handler's token: the stack is as it was at entry."""
    warp.words[DEPTH] = warp.words[rec.TRAP_DEPTH]


def clear(warp: WarpState) -> None:
    """Empty the stack: the warp ends."""
    warp.words[DEPTH] = 0


def branch(warp: WarpState, next_pc: int, taken: int, target: int) -> int:
    """Lanes of `taken` go to `target`, the other active lanes fall through.

    Raises:
        WarpErrorRaised: STACK_OVERFLOW, or PC_WRAP for a target below address 0.
    """
    if target < 0:
        raise _wrapped(warp, target)
    stay = warp.words[ACTIVE] & ~taken
    if not stay:
        return target
    if not taken:
        return next_pc
    _reserve(warp, 1)
    _push(warp, _DIV, taken, target)
    warp.words[ACTIVE] = stay
    return next_pc


def branch_each(warp: WarpState, next_pc: int, targets: dict[int, int]) -> int:
    """Lanes go to different places: target -> lanes; active lanes not named fall through."""
    taken = 0
    for lanes in targets.values():
        taken |= lanes
    stay = warp.words[ACTIVE] & ~taken
    order = sorted(targets)
    _reserve(warp, len(order) - (0 if stay else 1))
    first = next_pc
    if not stay:
        first = order.pop(0)
        stay = targets[first]
    for target in reversed(order):
        _push(warp, _DIV, targets[target], target)
    warp.words[ACTIVE] = stay
    return first


def pop(warp: WarpState, next_pc: int, kind: str, lanes: int) -> int:
    """Park `lanes` at their topmost token of `kind`.

    Raises:
        WarpErrorRaised: RET_EMPTY_STACK_ERROR or STACK_ERROR when a lane has no such token.
    """
    parked = _find(warp, TOKEN_CODE[kind], lanes)
    missing = lanes
    for _, part in parked:
        missing &= ~part
    if missing:
        consumer = CONSUMERS[kind]
        if kind == "RET":
            raise WarpErrorRaised("RET_EMPTY_STACK_ERROR", missing, "RET without a call")
        text = f"{consumer} without a {kind} token on the divergence stack"
        raise WarpErrorRaised("STACK_ERROR", missing, text)
    _park(warp, parked)
    return _leave(warp, next_pc, lanes)


@dataclass(frozen=True, slots=True)
class ActiveCall:
    """The call that a warp's active lanes are in.

    Attributes:
        entry: number of its token on the stack.
        lanes: those that made it, without those that have ended.
        target: where they go on behind it.
        waiting: where those of them stand that have not returned: pc → lanes.
    """

    entry: int
    lanes: int
    target: int
    waiting: dict[int, int]


def call_of(warp: WarpState) -> ActiveCall | None:
    """The innermost call of the active lanes; None in the kernel itself."""
    words, base, step = warp.words, warp.stack_base, warp.stack_step
    found = _find(warp, TOKEN_CODE["RET"], words[ACTIVE])
    if not found:
        return None
    entry = found[0][0]
    place = base + step * entry
    lanes = words[place + 1] & ~words[EXITED]
    waiting = {warp.pc: words[ACTIVE]}
    left = lanes & ~words[ACTIVE]
    for n in range(words[DEPTH] - 1, entry, -1):
        part = words[base + step * n + 1] & left
        if part:
            target = int(warp.quads[(base + step * n) // 2 + 1])
            waiting[target] = waiting.get(target, 0) | part
            left &= ~part
    return ActiveCall(entry, lanes, int(warp.quads[place // 2 + 1]), waiting)


def leave_call(warp: WarpState, call: ActiveCall) -> None:
    """All lanes of a call go on behind it, whatever they were about to do."""
    warp.words[DEPTH] = call.entry
    warp.words[ACTIVE] = call.lanes
    warp.pc = call.target


def drop_call(warp: WarpState, call: ActiveCall) -> None:
    """Undo a call whose return address was pushed but whose jump has not executed; the lanes
    stay.
    """
    warp.words[DEPTH] = call.entry


def exit_lanes(warp: WarpState, next_pc: int, lanes: int) -> int:
    """End `lanes`; those that hold a PEXIT token go to its target instead."""
    if warp.words[rec.FLAGS] & rec.FLAG_IDE:
        raise WarpErrorRaised("WARP_EXIT", lanes, "EXIT inside a section that IDE opened")
    if warp.words[DEPTH]:
        parked = _find(warp, _PEXIT, lanes)
        if parked:
            _park(warp, parked)
            for _, part in parked:
                warp.words[ACTIVE] &= ~part
                lanes &= ~part
    warp.words[EXITED] |= lanes
    return _leave(warp, next_pc, lanes)


def activate_quads(warp: WarpState, on: bool) -> None:
    """SAM: every lane of each quad with an active lane becomes active; RAM: restore."""
    words = warp.words
    if not on:
        if words[QUAD]:
            words[ACTIVE] = words[SAVED] & ~words[EXITED]
            words[QUAD] = 0
        return
    active = words[ACTIVE]
    words[SAVED] = active
    words[QUAD] = 1
    quads = active | active >> 1
    quads = (quads | quads >> 2) & 0x1111_1111
    words[ACTIVE] = quads * 0xF


def _wrapped(warp: WarpState, target: int) -> WarpErrorRaised:
    text = f"the target wraps around address 0 to 0x{target & CODE_MASK:x}"
    return WarpErrorRaised("PC_WRAP", warp.words[ACTIVE], text)


def _reserve(warp: WarpState, entries: int) -> None:
    """Room for more entries, or the overflow error."""
    capacity = warp.words[rec.FIELDS["capacity"].offset // 4]
    if warp.words[DEPTH] + entries > capacity:
        text = f"the divergence stack is full ({capacity} entries)"
        raise WarpErrorRaised("STACK_OVERFLOW", 0, text)


def _push(warp: WarpState, kind: int, mask: int, target: int) -> None:
    depth = warp.words[DEPTH]
    warp.set_entry(depth, kind, mask, target)
    warp.words[DEPTH] = depth + 1


def _find(warp: WarpState, kind: int, lanes: int) -> list[tuple[int, int]]:
    """(entry, lanes) of the topmost token of `kind` of each lane, from the top down."""
    words, base, step = warp.words, warp.stack_base, warp.stack_step
    found = []
    for n in range(words[DEPTH] - 1, -1, -1):
        found_kind = words[base + step * n]
        if found_kind == _TRAP:
            break
        if found_kind == kind:
            part = words[base + step * n + 1] & lanes
            if part:
                found.append((n, part))
                lanes &= ~part
                if not lanes:
                    break
    return found


def _park(warp: WarpState, parked: list[tuple[int, int]]) -> None:
    """Take the lanes out of every entry above their token."""
    words, base, step = warp.words, warp.stack_base, warp.stack_step
    depth = words[DEPTH]
    for entry, part in parked:
        for n in range(entry + 1, depth):
            words[base + step * n + 1] &= ~part & FULL


def _leave(warp: WarpState, next_pc: int, lanes: int) -> int:
    """The lanes stop running; continue with the others or with the top entry."""
    words = warp.words
    active = words[ACTIVE] & ~lanes
    words[ACTIVE] = active
    if active:
        return next_pc
    gone = words[EXITED]
    depth = words[DEPTH]
    while depth:
        depth -= 1
        entry = warp.stack_base + warp.stack_step * depth
        active = words[entry + 1] & ~gone
        if active:
            if words[entry] == _TRAP:
                raise WarpErrorRaised("STACK_ERROR", active, "lanes left the trap handler")
            words[DEPTH] = depth
            words[ACTIVE] = active
            return int(warp.quads[entry // 2 + 1])
    words[DEPTH] = 0
    if gone & words[VALID] != words[VALID]:
        raise WarpErrorRaised("STACK_ERROR", words[VALID] & ~gone, "lanes were lost: empty stack")
    words[STATUS] = rec.DONE
    return next_pc
