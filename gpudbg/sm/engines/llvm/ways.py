"""Ways that meet: into a loop and round it, into a piece of code from the one before or a turn.

Where two ways meet, what is in names on one of them comes from the record on the other, and phis
choose.  Names are carried on only as far as a host has registers for them.  Results of
floating-point operations go round a loop as floats, so that only who wants their bits makes NaNs
canonical; what comes from the record may be any bits, so it is told where a value comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpudbg.isa.spa5.operands import PT
from gpudbg.sm.engines.llvm.addresses import Shape
from gpudbg.sm.engines.llvm.floats import F32, I32
from gpudbg.sm.engines.llvm.lanes import Mask, Msk, Val
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.listing import Listing
from gpudbg.sm.engines.llvm.state import (
    BUDGET,
    FLAGS,
    PRED,
    Names,
    Point,
    StateOps,
    copy_of,
    flag_place,
)
from gpudbg.sm.engines.llvm.text import UNLIKELY
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES
from gpudbg.sm.turns import FLOW, starts_piece

MOST_ROUND = 12
"""Registers that stay in names around a loop."""
MOST_ON = 3
"""Registers that stay in names from one piece of straight code to the next: those used last."""


@dataclass(slots=True)
class Ahead:
    """A block that the present one falls into.

    Attributes:
        label: its own.
        pc: its head.
        behind: instructions before it in the blocks that led there.
        left: name of the budget at its head.
        names: the state there.
        shapes, same: what was found about addresses.
        piece: it is the next piece of straight code; `label` is where it is gone to from.
        active: the lanes that are active there, if that is known.
    """

    label: str
    pc: int
    behind: int
    left: tuple[str, int]
    names: Names
    shapes: dict[tuple[str, int], Shape]
    same: dict[str, str]
    piece: bool = False
    active: Mask | None = None


Key = tuple[str, int | str]
"""What a phi is of: ("regs", number), ("preds", number), ("flags", letter) or `LEFT`."""
LEFT: Key = ("left", "")
"""The budget."""
HELD: Key = ("held", "")
"""i1: all comes from the record."""


class WaysOps(StateOps):
    """Ways that meet; the emitter inherits them.

    Attributes:
        listing: the code.
        order: heads that can be entered.
    """

    listing: Listing
    order: list[int]
    _head: int
    """Of the present trace; -1: nothing leads back to it."""
    _backs: list[Names]
    """What is in names where the trace leads back to its head."""
    _carried: Names | None
    """What goes round the loop in names, once that is known."""
    _turns: list[str]
    """Blocks that lead back."""
    _phis: dict[Key, int]
    """Those of the loop, to their lines, which are completed when it is known what comes round."""
    _floats: set[int]
    """Registers that go round the loop as floats."""
    _placed: set[int]
    """Pieces that have been gone on to."""
    _ahead: Ahead | None
    _behind: int

    def _goes_round(self) -> Names:
        """What stays in names from one turn of a loop to the next; without values."""
        found = Names()
        for late in self._backs:
            found.late_regs |= late.late_regs
            found.late_preds |= late.late_preds
            found.late_flags |= late.late_flags
        first = sorted(found.late_regs & self._read)
        rest = sorted(found.late_regs - self._read)
        found.late_regs = set((first + rest)[:MOST_ROUND])
        # Results of floating-point operations on all ways round, in all lanes.
        self._floats = {
            n
            for n in found.late_regs
            if all(n in way.late_regs and self.is_canonical(way.regs[n]) for way in self._backs)
        }
        return found

    def _zeros(self) -> Names:
        """The state of a warp that begins: the record holds zeros where no code writes."""
        preds, flags = dict.fromkeys(range(PT), 0), dict.fromkeys(FLAGS, 0)
        regs = dict.fromkeys(range(self.registers), 0)
        written = self.written
        return Names(
            {**regs},
            {**preds},
            {**flags},
            set(regs) & written.registers,
            set(written.predicates),
            set(flags) if written.cc else set(),
        )

    def _way_in(self, entry: str, meet: str, late: Names, floats: set[int]) -> dict[Key, int]:
        """From the record into code that is also come to from elsewhere, with names.

        Args:
            entry, meet: labels of the present block and of that code.
            late: what comes in names; its values do not matter.
            floats: registers of it that come as floats.

        Returns:
            The phis, to their lines.
        """
        rows: list[tuple[Key, str, int, int]] = [(LEFT, "i64", BUDGET, 8)]
        places = [(n, HEADER_BYTES + ROW_BYTES * n) for n in sorted(late.late_regs)]
        rows += [(("regs", n), F32 if n in floats else I32, place, 64) for n, place in places]
        rows += [(("preds", n), "i32", PRED + 4 * n, 4) for n in sorted(late.late_preds)]
        rows += [(("flags", f), "i32", flag_place(f), 4) for f in sorted(late.late_flags)]
        held = [self.get(kind, "%rec", place, align) for _, kind, place, align in rows]
        self.br(meet)
        self.label(meet)
        phis, names = {}, {}
        for (key, kind, _, _), value in zip(rows, held, strict=True):
            phis[key] = len(self.lines)
            names[key] = self.op(f"phi {kind} [ {value}, %{entry} ]")
        if floats:
            phis[HELD] = len(self.lines)
            names[HELD] = self.op(f"phi i1 [ true, %{entry} ]")
        self._left_at_head = names[LEFT]
        regs = {n: Val(32, names["regs", n]) for n in late.late_regs - floats}
        regs |= {n: self._bits_of(names["regs", n], names[HELD]) for n in floats}
        self.now = Names(
            {**regs},
            {n: Msk(bits=names["preds", n]) for n in late.late_preds},
            {f: Msk(bits=names["flags", f]) for f in late.late_flags},
            set(late.late_regs),
            set(late.late_preds),
            set(late.late_flags),
        )
        self._shapes, self._same = {}, {}
        return phis

    def _bits_of(self, single: str, held: str) -> Val:
        """A register that has come as floats, from the record where an i1 says so."""
        bits, other = self.bits32(single).ref, self.bare(self.canonical(single), 32)
        value = Val(32, self.op(f"select i1 {held}, {I32} {bits}, {I32} {other}"))
        value.single = single
        return value

    def _values(self, keys: Iterable[Key], left: str, floats: set[int]) -> dict[Key, str]:
        """Present values for phis."""
        found = {LEFT: left, HELD: "false"}
        for kind, key in keys:
            if kind == "regs" and key in floats:
                found[kind, key] = self.f32(self.held(int(key)))
            elif kind == "regs":
                found[kind, key] = self.bare(self.held(int(key)), 32)
            elif kind == "preds":
                found[kind, key] = self.mask_bits(copy_of(self.pred(int(key))))
            elif kind == "flags":
                found[kind, key] = self.mask_bits(copy_of(self.cc_read(str(key))))
        return found

    def _back_edge(self, carried: Names) -> str:
        """A label that goes round the loop."""
        label, way = self.fresh("r"), self.fresh("k")
        kept, main = self.now, self.lines
        self.now, self.lines = kept.copy(), []
        self.label(label)
        self._store(self.now.drop(carried))
        left = self._turn_ends(self._head, way, True)
        values = self._values(self._phis, left, self._floats)
        for key, line in self._phis.items():
            main[line] += f", [ {values[key]}, %{way} ]"
        self.br(f"l{self._head}")
        self._turns += self.lines
        self.lines, self.now = main, kept
        return label

    def _marked(self, head: int) -> str:
        """i1: there is a breakpoint in the block at a head."""
        mark = self.get("i8", "%marks", (head - self.listing.base) // 8)
        return self.op(f"icmp ne i8 {mark}, 0")

    def _turn_ends(self, pc: int, way: str, marked: bool = False) -> str:
        """Begin the block `way` to a head, unless the turn ends there; the budget's name.

        Args:
            marked: leave before a mark, too.
        """
        left = self.op(f"sub i64 {self._left_at_head}, {self._index + 1}")
        point = Point(pc, left, 0, self.now.late())
        self._points.append(point)
        over = self.op(f"icmp sle i64 {left}, 0")
        if marked:
            self.unless(over, self._exit(point, Left.TURN), UNLIKELY)
            over = self._marked(pc)
        why = Left.MARK if marked else Left.TURN
        self.choose(over, self._exit(point, why), way, UNLIKELY)
        self.label(way)
        return left

    def _merges(self, insn: Any, after: int) -> bool:
        """Whether the next piece of straight code begins here, for the first time."""
        listing = self.listing
        return (
            starts_piece(after)
            and after in listing.code
            and after not in listing.joins
            and after not in self._placed
            and after not in self.order
            and insn.op not in FLOW
        )

    def _trim(self, most: int) -> None:
        """Store registers, but for so many that were used last."""
        now = self.now
        numbers = {n for n in now.late_regs if isinstance(now.regs[n], int)}
        late = sorted(now.late_regs - numbers, key=lambda n: -self._used.get(n, 0))
        kept = set(late[:most])
        self._store(now.drop(Names({}, {}, {}, kept, now.late_preds, now.late_flags)))

    def _into_piece(self, pc: int) -> None:
        """Go on in the next piece, which a turn may also begin with."""
        self._trim(MOST_ON)
        self._placed.add(pc)
        way = self.fresh("k")
        left = self._turn_ends(pc, way)
        self._ahead = Ahead(way, pc, self._behind, (left, 0), self.now, {}, {}, True)

    def _piece(self, ahead: Ahead) -> None:
        """The head of a piece: from the one before and from the record."""
        pc = ahead.pc
        self._behind, self.now = ahead.behind, ahead.names
        late = self.now.late()
        here = self._values(late.keys(), ahead.left[0], set())
        self.br(f"j{pc}")
        self.order.append(pc)
        self.label(f"b{pc}")
        for key, line in self._way_in(f"b{pc}", f"j{pc}", late, set()).items():
            self.lines[line] += f", [ {here[key]}, %{ahead.label} ]"
        self.take_point()
