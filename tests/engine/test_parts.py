"""Parts of code generation, each alone: what it emits, and what it leaves out."""

from __future__ import annotations

import pytest

from gpudbg.isa.operands import Access
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import MIN_NORMAL, NAN32, Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, VARYING, Msk, Slow, Val, Values
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.engines.llvm.layout import Left


class NoLibrary:
    """A run-time library without functions."""

    def outlined(self, name: str, operands: tuple[object, ...]) -> Val:
        """There is none."""
        raise Slow(name)


class Parts:
    """The parts that need no kernel."""

    def __init__(self, registers: int = 8) -> None:
        self.ir = ir = Builder()
        self.values = Values(ir)
        self.ints = Integers(ir, self.values)
        self.floats = Floats(ir, self.values, self.ints, NoLibrary())
        self.cursor = Cursor()
        everything = Access(frozenset(range(registers)), frozenset(range(7)), True)
        self.registers = Registers(
            ir, self.values, self.ints, self.floats, self.cursor, registers, everything
        )
        self.exits = Exits(ir, self.registers, self.cursor)


# ---- builder -----------------------------------------------------------------------------------


def test_pending_number_is_settled_as_often_as_need_be() -> None:
    ir = Builder()
    name, number = ir.pending("call i64 @f(i64 ", ")")
    ir.line("ret void")
    for value in (7, 12):
        number.settle(value)
    assert ir.lines == [f"  {name} = call i64 @f(i64 12)", "  ret void"]


def test_phi_gets_edges_later_wherever_lines_go_meanwhile() -> None:
    ir = Builder()
    name, phi = ir.phi("i32", "%a", "entry")
    with ir.aside():
        ir.label("back")
        phi.add("%b", "back")
    assert ir.lines == [f"  {name} = phi i32 [ %a, %entry ], [ %b, %back ]"]
    assert ir.tail == ["back:"]


def test_reverted_statements_are_gone_from_body_and_tail() -> None:
    ir = Builder()
    ir.op("add i32 1, 2")
    mark = ir.mark()
    ir.op("add i32 3, 4")
    ir.later("x1", ["ret void"])
    ir.revert(mark)
    assert len(ir.lines) == 1
    assert not ir.tail


# ---- integers ----------------------------------------------------------------------------------


def test_constants_are_folded() -> None:
    p = Parts()
    assert p.ints.add(FULL, 2) == 1
    assert p.ints.sar(1 << 31, 40) == FULL
    assert p.ints.slt(1 << 31, 0) == FULL
    assert p.ints.wide(1, 2) == 2 << 32 | 1
    assert not p.ir.lines


def test_uniform_operands_give_one_scalar() -> None:
    p = Parts()
    one, two = Val(32, "%a", UNIFORM), Val(32, "%b", UNIFORM)
    total = p.ints.add(one, two)
    assert isinstance(total, Val)
    assert total.shape is UNIFORM
    assert p.ir.lines == [f"  {total.ref} = add i32 %a, %b"]


def test_one_varying_operand_makes_the_result_varying() -> None:
    p = Parts()
    total = p.ints.add(Val(32, "%a", UNIFORM), Val(32, "%b"))
    assert isinstance(total, Val)
    assert total.shape is VARYING
    assert p.ir.lines[-1].endswith("add <32 x i32> %v2, %b")


def test_a_pair_is_joined_only_when_it_is_wanted_whole() -> None:
    p = Parts()
    address = p.ints.wadd(p.ints.wide(Val(32, "%lo"), Val(32, "%hi")), 16)
    assert isinstance(address, Val)
    assert not p.ir.lines
    assert address.pair is not None
    assert address.pair[2] == 16
    p.values.whole(address, 64)
    assert "shufflevector" in p.ir.lines[0]


def test_a_constant_that_was_added_is_known_apart() -> None:
    p = Parts()
    base = Val(32, "%base")
    moved = p.ints.add(p.ints.add(base, 4), 8)
    assert p.ints.origin(moved) == (base, 12)


# ---- floats ------------------------------------------------------------------------------------


def test_bits_of_a_result_are_not_made_where_floats_are_wanted() -> None:
    p = Parts()
    total = p.floats.fadd(Val(32, "%a"), Val(32, "%b"))
    before = len(p.ir.lines)
    assert p.floats.f32(total) == p.floats.single(total)
    assert len(p.ir.lines) == before
    assert p.floats.is_canonical(total)


def test_what_was_scaled_where_it_was_small_holds_no_subnormal() -> None:
    """FSETP.GEU on |x|, FMUL by 2**24 under its complement: nothing is left to be flushed."""
    p = Parts()
    x = Val(32, "%x")
    small = p.floats.flt(p.floats.and_(x, NAN32), MIN_NORMAL)
    scaled = p.floats.fmul(x, 0x4B800000)
    merged = p.ints.select(small, scaled, x)
    p.floats.subnormals.note_merged(small, scaled, x, merged)
    assert p.floats.subnormals.absent(merged)
    assert p.floats.ftz(merged) is merged


def test_directed_rounding_is_left_to_the_library() -> None:
    p = Parts()
    with pytest.raises(Slow, match=r"fadd\.RZ"):
        p.floats.fadd(Val(32, "%a"), Val(32, "%b"), "RZ")


# ---- registers and exits -----------------------------------------------------------------------


def test_a_register_is_loaded_once_and_stored_only_by_exits() -> None:
    p = Parts()
    one = p.registers.reg(3)
    assert p.registers.reg(3) is one
    p.registers.reg_write(4, p.ints.add(one, 1))
    assert p.registers.now.dirty_regs == {4}
    assert sum("load" in line for line in p.ir.lines) == 1
    assert not any("store" in line for line in p.ir.lines)


def test_a_register_the_warp_does_not_have_is_slow() -> None:
    with pytest.raises(Slow):
        Parts(registers=2).registers.reg(2)


def test_a_side_exit_stores_what_was_dirty_at_its_point() -> None:
    """What is written after the point is not; the next exit, from a later point, stores both."""
    p = Parts()
    p.cursor.pc, p.cursor.budget = 8, "%budget0"
    p.registers.reg_write(1, 7)
    p.exits.new_point()
    p.exits.bail_unless("%good")
    p.cursor.index = 1
    p.registers.reg_write(2, 9)
    p.exits.side_exit(Left.DONE, 16)
    p.exits.write_exits()
    first, second = "\n".join(p.ir.tail).split("ret i32")[:2]
    assert first.count("store <32 x i32>") == 1
    assert second.count("store <32 x i32>") == 2
    assert "store i64 8, ptr %pcs" in first
    assert "store i64 16, ptr %pcs" in second


def test_exits_to_one_point_share_their_stores() -> None:
    p = Parts()
    p.cursor.budget = "%budget0"
    p.exits.new_point()
    for _ in range(3):
        p.exits.bail_unless("%good")
    p.exits.write_exits()
    assert "\n".join(p.ir.tail).count("ret i32") == 1


def test_a_value_under_a_mask_is_known_for_the_same_lanes() -> None:
    """The next instruction under the same guard reads what was written, not the merged register."""
    p = Parts()
    guard = Msk(bits="%guard")
    p.cursor.exec = guard
    given = Val(32, "%given")
    p.registers.reg_write(1, given)
    merged = p.registers.whole(1)
    read = p.registers.reg(1)
    assert isinstance(read, Val)
    assert read.ref == "%given"
    assert p.registers.every_lane(read) is merged


# ---- typed expressions -------------------------------------------------------------------------


def test_operators_emit_their_statements_in_order() -> None:
    ir = Builder()
    a, b = Int(ir, 32, "%a"), Int(ir, 32, "%b")
    less = a & ~b
    assert (less + 1 > 3).bits == 1
    assert ir.lines == [
        "  %v1 = xor i32 %b, -1",
        "  %v2 = and i32 %a, %v1",
        "  %v3 = add i32 %v2, 1",
        "  %v4 = icmp ugt i32 %v3, 3",
    ]


def test_variables_and_pointers() -> None:
    ir = Builder()
    count = Variable(ir, 64, 0)
    count.set(count.get() + 1)
    table = TypedPointer(ir, "%table")
    table.element(32, Int(ir, 64, "%n")).store(32, count.get().trunc(32))
    assert ir.lines == [
        "  %v1 = alloca i64",
        "  store i64 0, ptr %v1",
        "  %v2 = load i64, ptr %v1",
        "  %v3 = add i64 %v2, 1",
        "  store i64 %v3, ptr %v1",
        "  %v4 = getelementptr i32, ptr %table, i64 %n",
        "  %v5 = load i64, ptr %v1",
        "  %v6 = trunc i64 %v5 to i32",
        "  store i32 %v6, ptr %v4",
    ]


def test_a_block_aside_that_is_given_up_leaves_what_was_before() -> None:
    ir = Builder()
    ir.line("kept")
    mark = ir.mark()

    def give_up() -> None:
        with ir.aside():
            ir.label("slow")
            raise Slow("no version")

    with pytest.raises(Slow, match="no version"):
        give_up()
    ir.revert(mark)
    assert ir.lines == ["  kept"]
    assert ir.tail == []
