"""Branches, calls, convergence barriers, CTA barriers, traps.

A branch that diverges splits the group of lanes; `gpudbg.sm.convergence` says how groups wait.
"""

from __future__ import annotations

from gpudbg.architectures import age
from gpudbg.isa.operands import Const, Imm, Pred, Reg
from gpudbg.sm.semantics.machine import Mask, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import ALL_ONES
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import (
    WideInsn,
    chosen,
    predicate,
    raw,
    raw_pair,
    write,
    write_predicate,
)

_HOPPER = 90


def lanes(m: WideMachine, i: WideInsn) -> Mask:
    """Executing lanes in which the further conditions hold."""
    mask = m.lanes()
    for operand in i.operands:
        if isinstance(operand, Pred):
            mask = m.mand(mask, predicate(m, operand))
    return mask


@register_wide("BRA")
def bra(m: WideMachine, i: WideInsn) -> None:
    """Branch; `.DIV` and `.CONV` send the whole group where its lanes are not, or are, those of a
    mask, `.ANY` where one lane's predicate holds."""
    target = _target(m, i)
    collective = chosen(i, ("DIV", "CONV", "ANY"))
    if not collective:
        m.branch(lanes(m, i), target)
        return
    index, negated = i.guard
    held = predicate(m, Pred(index, negated))
    for operand in i.operands:
        if isinstance(operand, Pred):
            held = m.mand(held, predicate(m, operand))
    yes = m.ballot(m.mand(m.active(), held))
    if collective == "ANY":
        goes = m.mnot(m.eq(yes, 0))
    else:
        mask = next((o for o in i.operands if isinstance(o, Reg)), None)
        wanted: Value = ALL_ONES if mask is None else raw(m, mask)
        if mask is not None and mask.inv:
            wanted = m.not_(wanted)
        same = m.eq(yes, wanted)
        goes = same if collective == "CONV" else m.mnot(same)
    m.branch(m.mand(m.active(), goes), target)


def _target(m: WideMachine, i: WideInsn) -> int:
    """Where a direct branch goes."""
    target = i.target(m.pc())
    if target is None:
        m.gap(f"{i.op} without an address in the instruction")
    return target


def _register_target(m: WideMachine, i: WideInsn, base: Wide) -> Wide:
    """Where a branch through a register pair goes."""
    register = next(o for o in i.operands if isinstance(o, Reg))
    return m.wadd(m.wadd(raw_pair(m, register), base), _offset(i) & 0xFFFF_FFFF_FFFF_FFFF)


def _offset(i: WideInsn) -> int:
    operand = i.o.get("offset")
    return operand.value if isinstance(operand, Imm) else 0


@register_wide("BRX", "BRXU")
def brx(m: WideMachine, i: WideInsn) -> None:
    """Branch to the next pc plus a register pair and an offset."""
    m.branch(lanes(m, i), _register_target(m, i, m.next_pc()))


@register_wide("JMX", "JMXU")
def jmx(m: WideMachine, i: WideInsn) -> None:
    """Branch to a register pair plus an offset."""
    m.branch(lanes(m, i), _register_target(m, i, 0))


@register_wide("CALL", "RET", "JMP")
def call(m: WideMachine, i: WideInsn) -> None:
    """A jump: code keeps return addresses in registers itself.

    `.REL` adds the register pair, which counts from the start of the section, to its target.
    """
    target = i.target(m.pc())
    register = next((o for o in i.operands if isinstance(o, Reg)), None)
    if register is not None:
        m.branch(lanes(m, i), _register_target(m, i, target or 0))
        return
    if target is None:
        absolute = next((o for o in i.operands if isinstance(o, Imm)), None)
        if absolute is None:
            m.gap(f"{i.op}.{'.'.join(i.m)} through a constant")
        target = absolute.value
    m.branch(lanes(m, i), target)


@register_wide("EXIT", "KILL")
def exit_(m: WideMachine, i: WideInsn) -> None:
    """End the lanes; KILL is of the graphics pipeline alone (measured on H100)."""
    if i.op == "KILL" and age(i.arch)[0] >= _HOPPER:
        m.warp_error("ILLEGAL_INSTR_ENCODING", lanes(m, i), "KILL outside the graphics pipeline")
    m.exit(lanes(m, i))


# ---- convergence -------------------------------------------------------------------------
def _barrier(m: WideMachine, i: WideInsn) -> int:
    """The number of a convergence barrier."""
    name = next(o for o in i.operands if hasattr(o, "text"))
    if name.text != f"B{name.value}":
        m.gap(f"{i.op} of {name.text}")
    return int(name.value)


@register_wide("BSSY")
def bssy(m: WideMachine, i: WideInsn) -> None:
    """The executing lanes will converge at a BSYNC."""
    m.open_barrier(_barrier(m, i))


@register_wide("BSYNC")
def bsync(m: WideMachine, i: WideInsn) -> None:
    """Wait for the lanes of the BSSY."""
    m.converge(_barrier(m, i), lanes(m, i))


@register_wide("BREAK")
def break_(m: WideMachine, i: WideInsn) -> None:
    """The lanes are no longer waited for."""
    m.leave_barrier(_barrier(m, i), lanes(m, i))


@register_wide("BMOV")
def bmov(m: WideMachine, i: WideInsn) -> None:
    """A convergence barrier to a register, or back."""
    if "PQUAD" in i.m or "64" in i.m:
        m.gap(f"BMOV.{'.'.join(i.m)}")
    number = _barrier(m, i)
    destination = i.o.get("d")
    if destination is not None:
        clear = "CLEAR" in i.m
        write(m, i, m.barrier_mask(number, clear, keep=destination.index != 255))
        return
    source = next((o for o in i.operands if not hasattr(o, "text")), None)
    if source is None:
        m.gap(f"{i.op} of {i.operands[-1].text}")
    m.set_barrier(number, raw(m, source))


@register_wide("RPCMOV")
def rpcmov(m: WideMachine, i: WideInsn) -> None:
    """A word of a register pair beside the others, which ptxas' -G code keeps values in
    (*modelled*: nothing else reads or writes it)."""
    if "64" in i.m:
        m.gap("RPCMOV.64")
    half = int(i.o["name"].text == "Rpc.HI")
    if "d" in i.o:
        write(m, i, m.return_pc(half))
    else:
        m.return_pc_write(half, raw(m, i.o["a"]))


@register_wide("WARPSYNC")
def warpsync(m: WideMachine, i: WideInsn) -> None:
    """Wait for the lanes of a mask; `.EXCLUSIVE` and `.COLLECTIVE`: exactly they go on together."""
    operand = next((o for o in i.operands if isinstance(o, Imm | Reg | Const)), None)
    mask = ALL_ONES if operand is None or "ALL" in i.m else raw(m, operand)
    m.synchronize(mask, lanes(m, i), "EXCLUSIVE" in i.m or "COLLECTIVE" in i.m)


@register_wide("YIELD", "NANOSLEEP")
def yield_(m: WideMachine, i: WideInsn) -> None:
    """Let other lanes run."""
    m.yield_turn(lanes(m, i))


# ---- CTA barriers, traps -----------------------------------------------------------------
@register_wide("BAR")
def bar(m: WideMachine, i: WideInsn) -> None:
    """CTA barrier: SYNC waits, ARV arrives, RED also combines a predicate."""
    mode = chosen(i, ("SYNC", "ARV", "RED", "SCAN", "SYNCALL"))
    if mode in ("SCAN", "SYNCALL", ""):
        m.gap(f"BAR.{'.'.join(i.m)}")
    places = [o for o in i.operands if not isinstance(o, Pred)]
    number, threads = places[0], places[1] if len(places) > 1 else None
    identity = raw(m, number)
    if isinstance(number, Reg):
        identity = m.and_(identity, 0xF)
    count: Value | None = None
    if isinstance(threads, Imm):
        count = threads.value or None
    elif isinstance(threads, Reg) and threads.index != 255:
        value = m.reg(threads.index)
        packed = isinstance(number, Reg)
        count = m.and_(m.shr(value, 16) if packed else value, 0xFFF)
    pred = predicate(m, i.o.get("pa")) if mode == "RED" else None
    reduce = chosen(i, ("POPC", "AND", "OR")) if mode == "RED" else ""
    m.barrier(mode, identity, count, reduce, pred)


@register_wide("B2R")
def b2r(m: WideMachine, i: WideInsn) -> None:
    """The result of the last BAR.RED."""
    if "RESULT" not in i.m:
        m.gap(f"B2R.{'.'.join(i.m)}")
    count, truth = m.barrier_result()
    write(m, i, count)
    write_predicate(m, i, "p", truth)


@register_wide("RTT")
def rtt(m: WideMachine, i: WideInsn) -> None:
    """Return from the trap handler; it has no other forms (`trap-handlers-from-sm_70`)."""
    m.system("RTT", mode="")


@register_wide("BPT")
def bpt(m: WideMachine, i: WideInsn) -> None:
    """A trap."""
    mode = chosen(i, ("TRAP", "PAUSE", "PAUSE_QUIET", "CAL", "INT", "DRAIN"))
    number = next((o.value for o in i.operands if isinstance(o, Imm)), 0)
    m.system("BPT", mode=mode or "TRAP", imm=number)
