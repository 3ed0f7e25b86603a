"""What the instructions read and change."""

from __future__ import annotations

import pytest
from gpudbg_plugins.amdgpu.apply import HwRegFile, ReadResult, Write
from gpudbg_plugins.amdgpu.operand import HwReg
from gpudbg_plugins.amdgpu.registers import processor
from gpudbg_plugins.amdgpu.source import read_instructions
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.errors import UsageError

U32 = st.integers(0, 0xFFFFFFFF)
OPERANDS = st.builds(HwReg, st.integers(0, 63), st.integers(0, 31), st.integers(1, 32))


def run(file: HwRegFile, text: str) -> ReadResult | Write:
    (instruction,) = read_instructions(text, file.processor)
    found = file.execute(instruction)
    assert isinstance(found, ReadResult | Write)
    return found


@given(U32, OPERANDS)
def test_read_is_the_bits_zero_extended(value: int, operand: HwReg) -> None:
    file = HwRegFile("gfx1010", {str(operand.id): value})
    bits = f"{value:032b}"[::-1][operand.offset : operand.offset + operand.size]
    assert file.getreg(operand).result == int(bits[::-1], 2)


@given(U32, U32, OPERANDS, st.booleans(), st.sampled_from(["gfx900", "gfx1010", "gfx1200"]))
def test_write_changes_writable_bits_alone(
    before: int, value: int, operand: HwReg, privileged: bool, mcpu: str
) -> None:
    file = HwRegFile(mcpu, {str(operand.id): before}, privileged)
    writable = processor(mcpu).registers[operand.id].writable(privileged).bits
    write = file.setreg(operand, value)
    for bit in range(32):
        inside = operand.offset <= bit < operand.offset + operand.size
        source = value >> bit - operand.offset & 1 if inside else 0
        changed = inside and writable >> bit & 1
        assert write.after >> bit & 1 == (source if changed else before >> bit & 1)
    assert file.getreg(HwReg(operand.id)).value == write.after
    assert write.written | write.ignored == write.asked


def test_fields_at_or_past_their_size_can_be_written() -> None:
    """The trap handlers write such fields (offset 10, size 1): the mask is shifted too."""
    file = HwRegFile("gfx900", {"TRAPSTS": 0x400}, privileged=True)
    write = run(file, "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 10, 1), 0")
    assert isinstance(write, Write)
    assert (write.before, write.after) == (0x400, 0)


def test_getreg_writes_its_destination() -> None:
    file = HwRegFile("gfx1010", {"HW_REG_MODE": 0x2F0})
    read = run(file, "s_getreg_b32 s2, hwreg(HW_REG_MODE, 4, 4)")
    assert isinstance(read, ReadResult)
    assert (read.result, read.destination) == (0xF, "s2")
    assert file.read("s2") == 0xF
    assert read.lines() == ["s2 = 0xf (15), from HW_REG_MODE = 0x000002f0"]


def test_setreg_takes_the_low_bits_of_its_source() -> None:
    file = HwRegFile("gfx1010", {"MODE": 0x2F0, "s3": 0xFFFFFFF5})
    write = run(file, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s3")
    assert isinstance(write, Write)
    assert write.after == 0x2F5
    assert write.changes() == [("FP_ROUND", 0, 5, "32-bit: +inf; 64/16-bit: +inf")]


def test_privilege() -> None:
    text = "s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 13, 1), 1"
    user = run(HwRegFile("gfx1010", {"STATUS": 0}), text)
    trap = run(HwRegFile("gfx1010", {"STATUS": 0}, privileged=True), text)
    assert isinstance(user, Write)
    assert isinstance(trap, Write)
    assert (user.after, user.ignored) == (0, 1 << 13)
    assert "not writable by user code" in user.lines()[-1]
    assert (trap.after, trap.ignored) == (1 << 13, 0)


def test_registers_move_with_the_generation() -> None:
    for mcpu, text in (
        ("gfx1010", "s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES)"),
        ("gfx1200", "s_getreg_b32 s0, hwreg(HW_REG_PERF_SNAPSHOT_DATA1)"),
    ):
        read = run(HwRegFile(mcpu, {"15": 0x20001}), text)
        assert isinstance(read, ReadResult)
        assert read.result == 0x20001


def test_null_reads_as_zero() -> None:
    file = HwRegFile("gfx1010", {"MODE": 0xFF})
    write = run(file, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), null")
    assert isinstance(write, Write)
    assert write.after == 0


@pytest.mark.parametrize(
    ("values", "text", "error"),
    [
        ({}, "s_getreg_b32 s0, hwreg(1)", "no value is known for HW_REG_MODE"),
        ({"MODE": 0}, "s_setreg_b32 hwreg(1), s9", "no value is known for s9"),
        ({"MODE": 0}, "s_getreg_b32 s0, hwreg(28)", r"no value is known for hwreg\(28\) IB_STS2"),
        ({}, "s_setreg_imm32_b32 hwreg(51), 0", r"no value is known for hwreg\(51\) \(give 51="),
    ],
)
def test_values_that_are_missing(values: dict[str, int], text: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        run(HwRegFile("gfx1010", values), text)


def test_bad_values() -> None:
    with pytest.raises(UsageError, match="does not fit 32 bits"):
        HwRegFile("gfx1010", {"MODE": 1 << 32})
    with pytest.raises(UsageError, match="gfx1200 has no register 'TRAPSTS'"):
        HwRegFile("gfx1200", {"TRAPSTS": 0})
    assert "IB_STS2" in HwRegFile().names()
