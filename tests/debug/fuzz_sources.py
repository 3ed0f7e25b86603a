"""What `why` says an instruction read: everything else is changed, and the result stays.

python -m tests.debug.fuzz_sources [--count 200] [--start 0] [--arch sm_50 ...] [--random | --rare]

Single instructions of launches, or of random programs, are carried out again with all registers,
predicates and memory changed but for what is named as a source.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from typing import Any

import numpy as np

from gpudbg.architectures import is_wide
from gpudbg.assembler import assemble_file
from gpudbg.debug.history.replay import DepartureError
from gpudbg.debug.provenance.access_observers import Hit
from gpudbg.debug.provenance.places import (
    AskedPlace,
    access_of,
    find_warp,
    key_of,
    memory_place,
    raw_value,
    register_place,
)
from gpudbg.debug.provenance.rules import rule_of
from gpudbg.debug.provenance.sources import ReadSource, sources_of, visit
from gpudbg.errors import GpudbgError
from gpudbg.isa.family import Instruction, decode
from gpudbg.sm.checkpoint import GridCheckpoint
from gpudbg.sm.observer import Observer
from tests import kernel_cases as kc
from tests.debug.history_walks import modern, of_case
from tests.engine import fuzz_random, machines, random_modern, random_programs

SPACES = ("register", "predicate", "cc", "uniform", "uniform predicate")
MEMORY = ("global", "shared", "constant")
SEEMS = 8
"""Changes without a difference that say a source is none."""
MOST = 400
"""Warp instructions before the first one that is looked at."""


class Seen(Observer):
    """What one instruction was: lanes, and its accesses."""

    looks_only = True

    def __init__(self) -> None:
        self.lanes = self.pc = 0
        self.touches: list[tuple[str, str, Any, int, int]] = []

    def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
        self.lanes, self.pc = lanes, pc

    def access(self, warp: Any, space: str, kind: str, address: Any, lanes: int, size: int) -> None:
        at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
        self.touches.append((space, kind, at, lanes, size))


def made_by(insn: Instruction, seen: Seen, warp: Any, draw: random.Random) -> list[Any]:
    """(Place, lane) of what an instruction wrote."""
    lanes = [n for n in range(32) if seen.lanes >> n & 1]
    if not lanes:
        return []
    lane, key = draw.choice(lanes), key_of(warp)
    found = []
    for space in SPACES:
        if space == "cc":
            if insn.writes().cc:
                found.append((register_place("cc", (), key, lane), lane))
            continue
        last = len(warp.R) - 1 if space == "register" else 7
        found += [
            (register_place(space, (number,), key, lane), lane)
            for number in sorted(access_of(insn.writes(), space))
            if not space.startswith(("register", "predicate")) or number < last
        ]
    for space, kind, at, mask, size in seen.touches:
        touching = [n for n in range(32) if mask >> n & 1]
        if kind != "load" and space in ("global", "shared") and touching:
            lane = draw.choice(touching)
            word = memory_place(space, int(at[lane]), min(size, 4), key, lane)
            # Who wrote last is the last one that touches it.
            lane = max(n for n in touching if abs(int(at[n]) - int(at[lane])) < size)
            if rule_of(insn.op).made == "copied":
                lane = lanes[0]
            found.append((word, lane))
    return found


class Change:
    """Everything is changed but for some sources."""

    def __init__(self, sources: list[ReadSource], alone: bool, draw: random.Random) -> None:
        """Args: alone: what an instruction reads of other lanes must stay, lest it faults."""
        self._draw, self._alone = draw, alone
        self._named: dict[str, set[tuple[int, int]]] = {}
        self._bytes: dict[str, list[tuple[int, int]]] = {"global": [], "shared": []}
        for source in sources:
            place = source.place
            if place is None:
                continue
            if place.in_memory:
                self._bytes.setdefault(place.space, []).append((place.address, place.size))
            else:
                cells = {(n, source.lane) for n in place.numbers or (0,)}
                self._named.setdefault(place.space, set()).update(cells)

    def _keeps(self, space: str, number: int, lane: int) -> bool:
        return (number, lane) in self._named.get(space, ())

    def apply(self, session: Any, warp: Any, insn: Instruction, lane: int) -> None:
        """Change the machine; nobody notes it."""
        reads = insn.reads()
        registers = np.asarray(warp.R)
        fresh = [[self._draw.getrandbits(32) for _ in range(32)] for _ in registers]
        for number in range(len(registers) - 1):
            for at in range(32):
                hold = self._alone and number in reads.registers and at != lane
                if not hold and not self._keeps("register", number, at):
                    registers[number][at] = fresh[number][at]
        # Which lanes execute it is no value that it reads.
        guard = insn.guard[0]
        on_uniform = getattr(insn.form, "uniform_guard", False)
        plain, shared = (set(), {guard}) if on_uniform else ({guard}, set())
        self._masks(
            warp.predicates, "predicate", set(range(7)) - set(plain), reads.predicates, lane
        )
        self._masks(warp.cc, "cc", range(len(warp.cc)), range(4) if reads.cc else (), lane)
        if warp.has_groups and len(warp.UR) > 1:
            uniform = np.asarray(warp.UR)
            for number in range(len(uniform) - 1):
                for at in range(32):
                    hold = self._alone and number in reads.uniform
                    if not hold and not self._keeps("uniform", number, at):
                        uniform[number][at] = self._draw.getrandbits(32)
            self._masks(
                warp.uniform_predicates, "uniform predicate", set(range(7)) - set(shared),
                reads.uniform_predicates,
                lane,
            )  # fmt: skip
        self._memory(session, warp)

    def _masks(self, masks: Any, space: str, numbers: Any, reads: Any, lane: int) -> None:
        for number in numbers:
            mask = int(masks[number])
            for at in range(32):
                hold = self._alone and number in reads and at != lane
                name = 0 if space == "cc" else number
                if not hold and not self._keeps(space, name, at):
                    mask ^= (self._draw.random() < 0.5) << at
            masks[number] = mask

    def _memory(self, session: Any, warp: Any) -> None:
        shared = warp.cta.shared.data
        held = np.asarray(shared).copy()
        shared[:] = np.asarray(
            self._draw.randbytes(len(held))
            and np.frombuffer(self._draw.randbytes(len(held)), np.uint8)
        )
        for at, size in self._bytes["shared"]:
            shared[at : at + size] = held[at : at + size]
        memory = session.grid.gpu.memory
        for allocation in memory.allocations():
            if not 0 < len(allocation.data) <= 1 << 16:
                continue
            if allocation.tag not in ("buffer", "image") or allocation.name.endswith("pool"):
                # What a handle names is described there.
                continue
            low = allocation.base
            before = bytes(memory.read(low, len(allocation.data)))
            after = bytearray(self._draw.randbytes(len(before)))
            for at, size in self._bytes["global"]:
                if low <= at < low + len(before):
                    after[at - low : at - low + size] = before[at - low : at - low + size]
            memory.write(low, bytes(after))


def trouble_of(session: Any, draw: random.Random, met: Counter[str], focused: bool = False) -> str:
    """Look at the next instruction of any warp, or the focused one; what is read and not named, or
    ""."""
    ready = [w for w in session.warps() if w.status == "ready"]
    if session.finished or session.faulted or not ready:
        return "end"
    warp = session.warp() if focused else draw.choice(ready)
    state = warp.state
    active = int(state.active)
    if not active:
        return "end"
    session.focus_on(state.sm, state.slot, (active & -active).bit_length() - 1)
    tick, key = session.tick, key_of(state)
    row = session.symbols.instruction(state.pc)
    if row is None or not row.legal:
        return "end"
    insn, pc = decode(row.word, session.program.arch), state.pc
    with session.subscribe(Seen()) as seen:
        session.step()
    if session.tick != tick + 1 or session.faulted:
        return "end" if session.faulted or session.finished else ""
    history = session.history
    warp_state = find_warp(history.replay.grid, key)
    if warp_state is None:
        return ""
    for place, lane in made_by(insn, seen, warp_state, draw):
        seen_again = visit(
            session.history._inferior, history, Hit(tick, 0, key, pc, seen.lanes, ""), lane
        )
        found = sources_of(insn, seen_again, place, lane)
        history.pass_by(history.replay.latest(tick + 1))
        right = raw_value(session.history._inferior, place, lane)
        history.pass_by(history.replay.latest(tick))
        met[insn.op] += 1
        if NAMED is not None:
            _try_named(session, history, key, insn, place, lane, found, right, draw)
        wrong = _differs(
            session,
            history,
            key,
            insn,
            place,
            lane,
            found,
            right,
            bool(seen.touches),
            draw,
            pc,
            seen.lanes,
        )
        if wrong:
            names = ", ".join(
                f"{s.role} {s.place.text if s.place else s.what}/{s.lane}" for s in found
            )
            history.pass_by(history.replay.latest(tick + 1))
            return (
                f"{row.text} [{insn.op}] tick {tick} lane {lane} {place.text}: {wrong}; "
                f"named: {names}"
            )
    history.pass_by(history.replay.latest(tick + 1))
    history._follow()
    return ""


def _differs(
    session: Any, history: Any, key: Any, insn: Instruction, place: AskedPlace, lane: int,
    found: list[ReadSource], right: bytes | None, touches: bool, draw: random.Random,
    pc: int, lanes: int,
) -> str:  # fmt: skip
    grid = history.replay.grid
    kept = GridCheckpoint(grid)
    try:
        again = Seen()
        with history.replay.quiet(again):
            warp = find_warp(grid, key)
            Change(found, touches or insn.op in ("BAR", "LDC"), draw).apply(
                session, warp, insn, lane
            )
            event = grid.step_warp(warp)
            if again.pc != pc or again.lanes != lanes:
                # Another group of lanes had its turn.
                return ""
            if event.kind not in ("step", "exited"):
                return f"ends as {event.kind} {event.detail}"
            now = raw_value(session.history._inferior, place, lane)
            if now != right:
                return f"{now and now.hex()} and not {right and right.hex()}"
    except GpudbgError as error:
        return str(error)
    finally:
        kept.restore()
    return ""


NAMED: dict[tuple[str, str], Counter[bool]] | None = None
"""(Mnemonic, role) -> how often a change of such a source changed the result; None: nobody asks."""


def _try_named(
    session: Any, history: Any, key: Any, insn: Instruction, place: AskedPlace, lane: int,
    found: list[ReadSource], right: bytes | None, draw: random.Random,
) -> None:  # fmt: skip
    """Change one thing that is named, and note whether the result is another one."""
    named = [s for s in found if s.place is not None and s.place.space in (*SPACES, *MEMORY)]
    if not named or NAMED is None:
        return
    source = draw.choice(named)
    grid = history.replay.grid
    kept = GridCheckpoint(grid)
    try:
        with history.replay.quiet():
            warp = find_warp(grid, key)
            _flip(session, warp, source, draw)
            event = grid.step_warp(warp)
            moved = event.kind not in ("step", "exited")
            moved = moved or raw_value(session.history._inferior, place, lane) != right
    except GpudbgError:
        moved = True
    finally:
        kept.restore()
    role = source.role.split(",")[0].rstrip("0123456789 ")
    NAMED.setdefault((insn.op, role), Counter())[moved] += 1


def _flip(session: Any, warp: Any, source: ReadSource, draw: random.Random) -> None:
    """Change a source."""
    place = source.place
    assert place is not None
    number = place.numbers[0] if place.numbers else 0
    if place.space == "register":
        warp.R[number][source.lane] ^= draw.getrandbits(32) or 1
    elif place.space == "uniform":
        warp.UR[number][source.lane] ^= draw.getrandbits(32) or 1
    elif place.space == "predicate":
        warp.predicates[number] ^= 1 << source.lane
    elif place.space == "uniform predicate":
        warp.uniform_predicates[number] ^= 1 << source.lane
    elif place.space == "cc":
        for n in range(len(warp.cc)):
            warp.cc[n] ^= (draw.random() < 0.5) << source.lane
    elif place.space == "shared":
        data = warp.cta.shared.data
        for at in range(place.address, place.address + place.size):
            data[at] ^= draw.getrandbits(8)
    elif place.space == "global":
        memory = session.grid.gpu.memory
        old = memory.read(place.address, place.size)
        memory.write(place.address, bytes(b ^ draw.getrandbits(8) for b in old))
    elif place.space == "constant":
        bank = session.grid.launched.constants.banks[place.address >> 32]
        at = place.address & 0xFFFFFFFF
        data = bank.writable() if hasattr(bank, "writable") else bank.data
        for n in range(at, at + place.size):
            data[n] ^= draw.getrandbits(8)


def launches(archs: list[str], numbers: range, programs: bool) -> Any:
    """(Name, session) of launches of both kinds."""
    for number in numbers:
        draw = random.Random(number)
        arch = draw.choice(archs)
        if not programs:
            case = draw.choice(kc.cases(arch))
            yield f"{case.name}, seed {number}", machines.launch(case, "step", seed=number % 3)
            continue
        wide = is_wide(arch)
        maker = random_modern if wide else random_programs
        program = maker.make(number, arch)
        text = random_programs.source([program], arch)
        cubin = assemble_file(text, path="random.sass").cubin()
        session = fuzz_random.launched(cubin, program, "step", number)
        # Registers were filled.
        session.grid.note_edit()
        yield f"random {number} {arch}", session


RARE = frozenset(
    """UBLKCP UBLKRED UTMALDG UTMASTG UTMAREDG SYNCS ARRIVES LDGSTS STAS REDAS HMMA IMMA BMMA DMMA
    QMMA OMMA HGMMA LDSM STSM MOVM TEX TEXS TLD TLDS TLD4 TLD4S TXD TXQ SULD SUST SURED SUATOM R2UR
    ATOM ATOMG ATOMS REDG RED ELECT REDUX""".split()
)
"""Instructions that most kernels have few of."""


def rare_stops() -> Any:
    """(Name, session) of launches with breakpoints at rare instructions."""
    pictures = [c for c in kc.cases("sm_50", "sm_61") if c.kernel.startswith(("tex", "surf"))]
    for name, opened in [*modern(), *map(of_case, pictures)]:
        session = opened("step", 0)
        for row in session.symbols.listing:
            offset = session.symbols.offset(row.pc)
            if row.legal and offset >= 0:
                insn = decode(row.word, session.program.arch)
                if insn.op in RARE:
                    session.break_at(offset)
        yield name, session


def at_rare(session: Any, draw: random.Random, met: Counter[str], stops: int) -> Any:
    """Troubles of the instructions that a session stops at."""
    for _ in range(stops):
        if session.cont().kind != "breakpoint":
            return
        yield trouble_of(session, draw, met, focused=True)


def main() -> int:
    """Look, say what is missing; 1 if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument(
        "--arch", nargs="+", default=["sm_50", "sm_61", "sm_75", "sm_80", "sm_90", "sm_120"]
    )
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--rare", action="store_true", help="stop at rare instructions")
    parser.add_argument(
        "--named", action="store_true", help="say which sources never made a difference"
    )
    options = parser.parse_args()
    met: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    global NAMED
    NAMED = {} if options.named else None
    numbers = range(options.start, options.start + options.count)
    chosen = rare_stops() if options.rare else launches(options.arch, numbers, options.random)
    for name, session in chosen:
        draw = random.Random(f"{name} {options.start}" if options.rare else name)
        try:
            if not options.rare and draw.random() < 0.7:
                session.run(max_instructions=draw.randint(0, MOST))
            anywhere = (trouble_of(session, draw, met) for _ in range(40))
            for trouble in at_rare(session, draw, met, 40) if options.rare else anywhere:
                if trouble == "end":
                    break
                if trouble:
                    op = trouble.split(" tick ")[0].split("[")[-1].rstrip("]")
                    wrong[op] += 1
                    if wrong[op] < 4:
                        print(f"{name}: {trouble}", flush=True)
                    session.history._follow()
        except (DepartureError, GpudbgError) as error:
            if not isinstance(error, DepartureError):
                continue
            print(f"{name}: {error}", flush=True)
        finally:
            session.close()
    print(f"{sum(met.values())} values of {len(met)} mnemonics, wrong: {dict(wrong)}")
    print("met:", " ".join(sorted(met)))
    for (op, role), counts in sorted((NAMED or {}).items()):
        if not counts[True] and counts[False] >= SEEMS:
            print(f"{op}: {role} made no difference in {counts[False]} changes")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
