"""Merge points: heads of loops, and of pieces that both a turn and the piece before lead to.

One incoming edge has the dirty state in IR names, the other one in the record: phis choose.  Names
are carried on only as far as a host has registers for them.  Results of floating-point operations
go round a loop as floats, so that NaNs are made canonical only where the bits are used; bits from
the record may be any, so another phi says which edge was taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudbg.sm.engines.llvm.ir.builder import LANES, UNLIKELY, Builder, Phi
from gpudbg.sm.engines.llvm.ir.floats import F32, I32, Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Msk, Num, Val, Values, copy_of
from gpudbg.sm.engines.llvm.kernel.addresses import Addresses
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import BUDGET, DeoptPoint, Exits
from gpudbg.sm.engines.llvm.kernel.lane_facts import Facts, scalars
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.registers import PRED, NamedState, Registers, flag_place
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES

NO_FACTS: Facts = {}
Key = tuple[str, int | str]
"""Key of a phi: ("regs", number), ("base", 32 * number + first lane of a row), ("preds", number),
("uregs", number), ("flags", letter) or `LEFT`.
"""

LEFT: Key = ("left", "")
"""Key of the budget's phi."""

HELD: Key = ("held", "")
"""Key of the i1 phi that tells that all comes from the record."""


def keys_of(late: NamedState, facts: Facts) -> list[Key]:
    """Keys of the phis for what the record lacks, where facts are known."""
    found: list[Key] = []
    for kind, n in late.dirty_keys():
        if kind == "regs" and n in facts:
            found += [("base", LANES * int(n) + at) for at in facts[int(n)].firsts]
        else:
            found.append((kind, n))
    return found


class NotAsGuessedError(Exception):
    """Lanes that come round a loop do not lie as was guessed."""


class Merges:
    """Block heads with two entries: registers in the record, or values in IR names."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        floats: Floats,
        cursor: Cursor,
        registers: Registers,
        exits: Exits,
        addresses: Addresses,
        listing: KernelListing,
    ) -> None:
        self.ir, self.values, self.ints = ir, values, ints
        self.floats, self.cursor = floats, cursor
        self.registers, self.exits = registers, exits
        self.addresses, self.listing = addresses, listing

    def enter(
        self,
        entry: str,
        meet: str,
        late: NamedState,
        floats: set[int],
        facts: Facts = NO_FACTS,
    ) -> dict[Key, Phi]:
        """Load the registers that a block with several predecessors expects in names.

        Args:
            entry, meet: labels of the present block and of the block that is entered.
            late: the registers that the predecessors hold in names; their values are not read.
            floats: those of them that predecessors hold as floats.
            facts: what is known of registers, in the record and in names.

        Returns:
            The phis.
        """
        ir = self.ir
        rows: list[tuple[Key, str, int, int]] = [(LEFT, "i64", BUDGET, 8)]
        vectors = late.dirty_regs - facts.keys()
        places = [(n, HEADER_BYTES + ROW_BYTES * n) for n in sorted(vectors)]
        rows += [(("regs", n), F32 if n in floats else I32, place, 64) for n, place in places]
        for n in sorted(late.dirty_regs & facts.keys()):
            row = HEADER_BYTES + ROW_BYTES * n
            rows += [(("base", LANES * n + at), "i32", row + 4 * at, 4) for at in facts[n].firsts]
        rows += [(("preds", n), "i32", PRED + 4 * n, 4) for n in sorted(late.dirty_preds)]
        rows += [(("flags", f), "i32", flag_place(f), 4) for f in sorted(late.dirty_flags)]
        held = [ir.get(kind, "%rec", place, align) for _, kind, place, align in rows]
        shared = sorted(late.dirty_uregs)
        if shared:
            # Lanes may have different copies there: code leaves in that case.
            uniform = self.registers.uniform
            self.registers.now, self.cursor.budget = NamedState(), held[0]
            self.exits.new_point()
            held += [self.values.scalar(uniform.ureg(n), 32) for n in shared]
            rows += [(("uregs", n), "i32", 0, 0) for n in shared]
            entry = ir.end_block(meet)
        else:
            ir.br(meet)
        ir.label(meet)
        phis, names = {}, {}
        for (key, kind, _, _), value in zip(rows, held, strict=True):
            names[key], phis[key] = ir.phi(kind, value, entry)
        if floats:
            names[HELD], phis[HELD] = ir.phi("i1", "true", entry)
        self.cursor.budget = names[LEFT]
        regs: dict[int, Num] = {n: Val(32, names["regs", n]) for n in vectors - floats}
        regs |= {n: self._bits_of(names["regs", n], names[HELD]) for n in floats}
        self.registers.now = NamedState(
            {**regs},
            {n: Msk(bits=names["preds", n]) for n in late.dirty_preds},
            {f: Msk(bits=names["flags", f]) for f in late.dirty_flags},
            set(late.dirty_regs),
            set(late.dirty_preds),
            set(late.dirty_flags),
            {n: Val(32, names["uregs", n], UNIFORM) for n in shared},
            dirty_uregs=set(shared),
            facts={n: fact for n, fact in facts.items() if n not in late.dirty_regs},
        )
        for n in sorted(late.dirty_regs & facts.keys()):
            bases = (Val(32, names["base", LANES * n + at], UNIFORM) for at in facts[n].firsts)
            self.registers.now.regs[n] = self.ints.affine(tuple(bases), facts[n].offsets)
        self.addresses.shapes, self.addresses.same = {}, {}
        return phis

    def _bits_of(self, single: str, held: str) -> Val:
        """A register that arrives as floats, or from the record where an i1 says so."""
        bits, other = (
            self.floats.bits32(single).ref,
            self.values.bare(self.floats.canonical(single), 32),
        )
        value = Val(32, self.ir.op(f"select i1 {held}, {I32} {bits}, {I32} {other}"))
        self.floats.singles[value] = single
        return value

    def incoming(
        self, keys: Iterable[Key], left: str, floats: set[int], facts: Facts = NO_FACTS
    ) -> dict[Key, str]:
        """Present values for phis.

        Raises:
            NotAsGuessedError: a register is not as facts say.
        """
        registers = self.registers
        found = {LEFT: left, HELD: "false"}
        for kind, key in keys:
            if kind == "regs" and key in floats:
                found[kind, key] = self.floats.f32(registers.whole(int(key)))
            elif kind == "regs":
                found[kind, key] = self.values.bare(registers.whole(int(key)), 32)
            elif kind == "base":
                index, lane = divmod(int(key), LANES)
                fact = facts[index]
                bases = scalars(self.ints, registers.whole(index), fact)
                if bases is None:
                    raise NotAsGuessedError
                base = bases[fact.firsts.index(lane)]
                found[kind, key] = self.values.scalar(base, 32)
            elif kind == "preds":
                found[kind, key] = self.values.mask_bits(copy_of(registers.pred_whole(int(key))))
            elif kind == "uregs":
                value = registers.uniform.ureg(int(key))
                found[kind, key] = self.values.scalar(value, 32)
            elif kind == "flags":
                found[kind, key] = self.values.mask_bits(copy_of(registers.cc_whole(str(key))))
        return found

    def marked(self, head: int) -> str:
        """i1: there is a breakpoint in the block at a head."""
        mark = self.ir.get("i8", "%marks", self.mark_of(head))
        return self.ir.op(f"icmp ne i8 {mark}, 0")

    def mark_of(self, head: int) -> int:
        """Where the mark of a block is, by its head."""
        return (head - self.listing.base) // 8

    def turn_ends(self, pc: int, following: str, marked: bool = False, kept: str = "") -> str:
        """Begin the block `way` to a head, unless the turn ends there; the budget's name.

        Args:
            marked: leave before a mark, too.
            kept: as of `DeoptPoint`.
        """
        ir = self.ir
        left = ir.op(f"sub i64 {self.cursor.budget}, {self.cursor.index + 1}")
        point = DeoptPoint(pc, left, 0, self.registers.now.dirty(), kept=kept)
        self.exits.points.append(point)
        over = ir.op(f"icmp sle i64 {left}, 0")
        if marked:
            ir.unless(over, self.exits.exit_at(point, Left.TURN), UNLIKELY)
            over = self.marked(pc)
        why = Left.MARK if marked else Left.TURN
        ir.choose(over, self.exits.exit_at(point, why), following, UNLIKELY)
        ir.label(following)
        return left
