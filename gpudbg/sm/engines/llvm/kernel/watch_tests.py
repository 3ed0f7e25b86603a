"""Code that leaves to the step engine before it touches what an observer has selected
(`gpudbg.sm.selection`).

The numbers of a test (where a range lies, whose it is) are read when a warp's function begins, so
that code for one range is code for any other of its space.  A range of another block, or of another
warp's local memory, lies where no access can be.
"""

from __future__ import annotations

from typing import Any

from gpudbg.mem.windows import AddressLayout
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, vector
from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Val, Values
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.instruments import Instrument
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import FIELDS
from gpudbg.sm.selection import ANY, Tests, touched_by

ROW_BYTES = 32
"""Bytes of a table row for a range or owner: low, size, CTA, warp."""
_FAR = {32: 0x7FFF_0000, 64: -(1 << 48)}
"""By the bits of addresses: where a range is placed that the present warp cannot touch."""
_INDEX = FIELDS["index"].offset


class WatchTests(Instrument):
    """Tests of accesses and of registers."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        exits: Exits,
        tests: Tests,
        windows: AddressLayout,
    ) -> None:
        """Args: windows: where generic addresses of shared and local memory lie."""
        self.ir, self.values, self.cursor, self.exits = ir, values, cursor, exits
        self.tests = tests
        self._bases = {
            "global": 0,
            "shared": windows.shared_window,
            "local": windows.local_window,
        }
        self._bounds: dict[tuple[int, int, int, int], tuple[str, str]] = {}

    # ---- at the beginning of the function ------------------------------------------------
    def entry(self) -> list[str]:
        """Statements that read the table."""
        out = [
            f"%watchp = getelementptr i8, ptr %env, i64 {layout.WATCHED}",
            "%watch = load ptr, ptr %watchp",
            f"%watch.ctap = getelementptr i8, ptr %rec, i64 {layout.CTA_POINTER}",
            "%watch.ctas = load ptr, ptr %watch.ctap",
            "%watch.cta = load i64, ptr %watch.ctas",
            f"%watch.indexp = getelementptr i8, ptr %rec, i64 {_INDEX}",
            "%watch.index = load i32, ptr %watch.indexp",
            "%watch.warp = zext i32 %watch.index to i64",
        ]
        count = len(self.tests.ranges)
        for n in range(count + self.tests.owners):
            out += _numbers(n) + _mine(n)
        for (n, bits, more, base), (low, size) in self._bounds.items():
            out += [
                f"{low}.at = add i64 %w{n}.low, {base - more}",
                f"{low}.here = select i1 %w{n}.mine, i64 {low}.at, i64 {_FAR[bits]}",
                f"{size}.all = add i64 %w{n}.size, {more}",
                *(_cut(low, f"{low}.here", bits), _cut(size, f"{size}.all", bits)),
            ]
        owners = [f"%w{n}.mine" for n in range(count, count + self.tests.owners)]
        if owners:
            out.append(f"%watch.owner1 = or i1 {owners[0]}, false")
            for n, owner in enumerate(owners[1:], 1):
                out.append(f"%watch.owner{n + 1} = or i1 %watch.owner{n}, {owner}")
            out.append(f"%watch.other = xor i1 %watch.owner{len(owners)}, true")
        return out

    # ---- accesses ------------------------------------------------------------------------
    def note_access(self, kind: str, space: str, address: Num, size: int) -> None:
        """Leave before an access that may touch a range."""
        hits = [
            self._hit(n, space, address, size)
            for n, (where, loads, stores) in enumerate(self.tests.ranges)
            if (space in (where, "generic"))
            and (kind == "atomic" or (loads if kind == "load" else stores))
        ]
        if not hits:
            return
        found = hits[0]
        scalar = self.values.uniform(address)
        for other in hits[1:]:
            found = self.ir.op(f"or {'i1' if scalar else '<32 x i1>'} {found}, {other}")
        if scalar:
            good = self.ir.op(f"xor i1 {found}, true")
        else:
            bits = self.ir.op(f"bitcast <32 x i1> {found} to i32")
            if self.cursor.exec != FULL:
                bits = self.ir.op(f"and i32 {bits}, {self.values.mask_bits(self.cursor.exec)}")
            good = self.ir.op(f"icmp eq i32 {bits}, 0")
        self.ir.provided(good, self.exits.exit_at(self.exits.point, Left.WATCHED))

    def _hit(self, number: int, space: str, address: Num, size: int) -> str:
        """Whether an access touches a range, of each lane, or of all where they have one address.

        It does where the distance from the first address that reaches the range is less than the
        range is long, by what an access is longer than a byte.
        """
        where = self.tests.ranges[number][0]
        bits = 32 if space in ("shared", "local") else 64
        low, count = self._bound(number, bits, size - 1, self._bases[where] if bits == 64 else 0)
        ir, values = self.ir, self.values
        if values.uniform(address):
            apart = ir.op(f"sub i{bits} {values.scalar(address, bits)}, {low}")
            return ir.op(f"icmp ult i{bits} {apart}, {count}")
        kind = vector(f"i{bits}")
        assert isinstance(address, Val)
        given = values.bare(address, bits)
        apart = ir.op(f"sub {kind} {given}, {values.spread(low, bits)}")
        return ir.op(f"icmp ult {kind} {apart}, {values.spread(count, bits)}")

    def _bound(self, number: int, bits: int, more: int, base: int) -> tuple[str, str]:
        """Names of a range's first address for accesses of a size, and of its length for them."""
        key = number, bits, more, base
        if key not in self._bounds:
            name = f"%w{number}.{bits}.{more}.{base}"
            self._bounds[key] = f"{name}.low", f"{name}.size"
        return self._bounds[key]

    # ---- registers, constants ------------------------------------------------------------
    def note_instruction(self, insn: Any) -> None:
        """Leave before an instruction that reads a selected constant, or touches a selected
        register, if it is the register's warp that executes it."""
        tests = self.tests
        if any(constant.read_by(insn) for constant in tests.constants):
            self.ir.provided("false", self.exits.exit_at(self.exits.point, Left.WATCHED))
        elif tests.registers and tests.registers & touched_by(insn):
            self.ir.provided("%watch.other", self.exits.exit_at(self.exits.point, Left.WATCHED))


def _cut(name: str, whole: str, bits: int) -> str:
    """A statement that truncates a 64-bit number to `bits` under another name."""
    return f"{name} = {f'trunc i64 {whole} to i32' if bits == 32 else f'add i64 {whole}, 0'}"


def _numbers(n: int) -> list[str]:
    """Statements that read row `n` of the table."""
    names = enumerate(("low", "size", "cta", "warp"))
    rows = ((f"%w{n}.{name}", f"%w{n}.{name}p", ROW_BYTES * n + 8 * at) for at, name in names)
    return [
        line
        for name, place, offset in rows
        for line in (
            f"{place} = getelementptr i8, ptr %watch, i64 {offset}",
            f"{name} = load i64, ptr {place}",
        )
    ]


def _mine(n: int) -> list[str]:
    """Statements that test whether row `n` is about the present warp."""
    out = []
    for name in ("cta", "warp"):
        place = f"%w{n}.{name}"
        out += [
            f"{place}.any = icmp eq i64 {place}, {ANY}",
            f"{place}.same = icmp eq i64 {place}, %watch.{name}",
            f"{place}.mine = or i1 {place}.any, {place}.same",
        ]
    return [*out, f"%w{n}.mine = and i1 %w{n}.cta.mine, %w{n}.warp.mine"]
