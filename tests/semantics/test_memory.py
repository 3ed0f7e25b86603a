"""Loads, stores, atomics: addresses, widths, register pairs and quads, and what they refuse."""

from __future__ import annotations

import struct

import pytest

from gpudbg.errors import ModelGap
from gpudbg.isa.spa5.assemble import assemble
from gpudbg.mem.windows import WINDOW_BYTES
from gpudbg.sm.faults import WarpErrorRaised
from tests.semantics.harness import FULL, Bench, State

SIZES = {"U8": (1, False), "S8": (1, True), "U16": (2, False), "S16": (2, True), "": (4, False)}


def bench(arch: str = "sm_50") -> tuple[Bench, int]:
    """A bench with 4 KB of memory that holds a known pattern, and its address."""
    made = Bench(arch)
    place = made.memory.allocate(4096, "data")
    made.memory.write(place.base, bytes((7 * k + 129) & 0xFF for k in range(4096)))
    return made, place.base


def pointers(base: int, stride: int) -> State:
    """R2:R3 hold base + stride * lane; R4.. hold small numbers."""
    addresses = [base + stride * k for k in range(32)]
    low, high = ([a >> s & FULL for a in addresses] for s in (0, 32))
    rest = {r: [1000 * r + k for k in range(32)] for r in range(4, 16)}
    return State({2: low, 3: high} | rest)


def run(on: Bench, text: str, state: State) -> State:
    """Execute one instruction given as text."""
    return on.execute(assemble(text, 8, on.arch), state)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("offset", [0, 64, -32])
def test_global_load_extends_by_type(size: str, offset: int) -> None:
    on, base = bench()
    width, signed = SIZES[size]
    sign = "-" if offset < 0 else ""
    place = f"[R2+{sign}{abs(offset):#x}]" if offset else "[R2]"
    dot = "." + size if size else ""
    after = run(on, f"LDG.E{dot} R8, {place}", pointers(base + 256, width))
    for lane in range(32):
        raw = on.memory.read(base + 256 + width * lane + offset, width)
        assert after.registers[8][lane] == int.from_bytes(raw, "little", signed=signed) & FULL


@pytest.mark.parametrize(("suffix", "count"), [(".64", 2), (".128", 4)])
def test_wide_accesses_use_consecutive_registers(suffix: str, count: int) -> None:
    on, base = bench()
    after = run(on, f"LDG.E{suffix} R8, [R2]", pointers(base, 4 * count))
    for lane in range(32):
        words = struct.unpack(f"<{count}I", on.memory.read(base + 4 * count * lane, 4 * count))
        assert [after.registers[8 + k][lane] for k in range(count)] == list(words)
    run(on, f"STG.E{suffix} [R2+0x400], R8", after)
    assert on.memory.read(base + 1024, 128 * count) == on.memory.read(base, 128 * count)


def test_rz_stores_zeros_and_discards_loads() -> None:
    on, base = bench()
    before = pointers(base, 16)
    run(on, "STG.E.128 [R2], RZ", before)
    assert on.memory.read(base, 512) == bytes(512)
    after = run(on, "LDG.E.128 RZ, [R2]", before)
    assert all(after.registers[r] == before.registers[r] for r in before.registers)


def test_narrow_address_is_zero_extended() -> None:
    on = Bench()
    with pytest.raises(WarpErrorRaised) as raised:
        run(on, "LDG R8, [R2]", pointers(0xFFFF_FFFF_0000_1000, 4))
    assert raised.value.address == 0x1000


@pytest.mark.parametrize(
    "text",
    [
        "LDG.E.64 R9, [R2]",
        "LDG.E.128 R10, [R2]",
        "STG.E.64 [R2], R5",
        "LDG.E R8, [R5]",
        "ATOM.E.CAS R8, [R2], R5, R6",
        "ATOM.E.ADD.U64 R8, [R2], R5",
        "ATOM.E.ADD.U64 R9, [R2], R6",
        "LDC.64 R9, c[0x0][0x0]",
    ],
)
def test_misaligned_register_numbers_are_errors(text: str) -> None:
    on, base = bench()
    try:
        word = assemble(text, 8)
    except Exception:
        pytest.fail(f"{text} does not assemble")
    before = pointers(base, 16)
    with pytest.raises(WarpErrorRaised) as raised:
        on.execute(word, before)
    assert raised.value.code == "MISALIGNED_REG"
    assert on.state().registers[8] == before.registers[8]


def test_register_outside_the_allocation() -> None:
    with pytest.raises(WarpErrorRaised) as raised:
        run(Bench(registers=16), "MOV R16, R2", State())
    assert raised.value.code == "OOR_REG"


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("ATOM.E.INC.S32 R8, [R2], R4", "sm_50"),
        ("ATOM.E.ADD.S64 R8, [R2], R4", "sm_50"),
        ("ATOM.E.MAX.F32.FTZ.RN R8, [R2], R4", "sm_50"),
        ("RED.E.DEC.U64 [R2], R4", "sm_50"),
        ("ATOM.E.XOR.F16x2.RN R8, [R2], R4", "sm_60"),
        ("ATOM.E.MIN.F64.RN R8, [R2], R4", "sm_61"),
    ],
)
def test_atomics_the_hardware_lacks(text: str, arch: str) -> None:
    on, base = bench(arch)
    with pytest.raises(WarpErrorRaised) as raised:
        run(on, text, pointers(base, 8))
    assert raised.value.code == "ILLEGAL_INSTR_PARAM"


@pytest.mark.parametrize(
    "text", ["ATOM.E.SAFEADD R8, [R2], R4", "ATOM.E.ADD.U128 R8, [R2], R4", "CCTLT.IVALL"]
)
def test_unknown_memory_instructions_stop(text: str) -> None:
    on, base = bench()
    with pytest.raises(ModelGap):
        run(on, text, pointers(base, 16))


def test_compare_and_swap_takes_its_operands_from_consecutive_registers() -> None:
    on, base = bench()
    before = pointers(base, 8)
    memory = struct.unpack("<64I", on.memory.read(base, 256))
    # Even lanes compare equal; R7 (R9:R8 for 64 bits) is the new value.
    before.registers[6] = [memory[2 * k] if k % 2 == 0 else 0 for k in range(32)]
    after = run(on, "ATOM.E.CAS R12, [R2], R6, R7", before)
    assert after.registers[12] == [memory[2 * k] for k in range(32)]
    now = struct.unpack("<64I", on.memory.read(base, 256))
    for k in range(32):
        assert now[2 * k] == (before.registers[7][k] if k % 2 == 0 else memory[2 * k])


def test_wide_compare_and_swap() -> None:
    on, base = bench()
    before = pointers(base, 8)
    memory = struct.unpack("<32Q", on.memory.read(base, 256))
    for k in range(32):
        before.registers[4][k] = memory[k] & FULL
        before.registers[5][k] = memory[k] >> 32 ^ (k == 5)
    after = run(on, "ATOM.E.CAS.64 R12, [R2], R4, R6", before)
    now = struct.unpack("<32Q", on.memory.read(base, 256))
    for k in range(32):
        assert after.registers[12][k] | after.registers[13][k] << 32 == memory[k]
        new = before.registers[6][k] | before.registers[7][k] << 32
        assert now[k] == (memory[k] if k == 5 else new)


@pytest.mark.parametrize(
    ("text", "bank", "index"),
    [
        ("LDC R8, c[0x1][R4+0x10]", 1, 4),
        ("LDC.IL R8, c[0x1][R4+0x10]", 1, 4),
        ("LDC.IS R8, c[0x0][R5+0x10]", 2, 4),
        ("LDC R8, c[0x3][0x20]", 3, 8),
    ],
)
def test_constant_load_modes(text: str, bank: int, index: int) -> None:
    on = Bench()
    for number in range(4):
        on.bank(number)[:] = [number << 16 | k for k in range(len(on.bank(number)))]
    lanes = list(range(32))
    state = State({4: [4 * k for k in lanes], 5: [0x20000 + 4 * k for k in lanes]})
    after = run(on, text, state)
    moving = 0 if "R4" not in text and "R5" not in text else 1
    assert after.registers[8] == [bank << 16 | index + moving * k for k in lanes]


def test_constant_load_outside_the_bank() -> None:
    with pytest.raises(WarpErrorRaised) as raised:
        run(Bench(), "LDC R8, c[0x0][R4]", State({4: [0x1000] * 32}))
    assert raised.value.code == "INVALID_CONST_ADDR_LDC"


@pytest.mark.parametrize("text", ["CCTL.E.PF1 [R2]", "CCTLL.WB [R2]", "MEMBAR.SYS", "DEPBAR {3}"])
def test_hints_change_nothing(text: str) -> None:
    on = Bench()
    before = pointers(0x1234, 3)
    after = run(on, text, before)
    assert all(after.registers[r] == before.registers[r] for r in before.registers)


def test_generic_accesses_find_their_window() -> None:
    on, base = bench()
    layout = on.memory.layout
    stack = on.warp.local.size
    bases = (base, layout.shared_window, layout.local_window + WINDOW_BYTES - stack)
    addresses = [bases[k % 3] + 4 * k for k in range(32)]
    state = State(
        {2: [a & FULL for a in addresses], 3: [a >> 32 for a in addresses], 4: list(range(32))}
    )
    run(on, "ST.E [R2], R4, P0", state)
    after = run(on, "LD.E R5, [R2]", state)
    assert after.registers[5] == list(range(32))
    assert on.memory.read(base, 4) == bytes(4)
    assert on.cta.shared.words[1] == 1
    assert on.warp.local.read(2, WINDOW_BYTES - stack + 8, 4) == struct.pack("<I", 2)


def test_address_predicate_is_true_outside_both_windows() -> None:
    on, base = bench()
    layout = on.memory.layout
    picks = (base, layout.shared_window + 8, layout.local_window + 0xFFFFFF,
             layout.local_window + 0x1000000)  # fmt: skip
    addresses = [picks[k % 4] for k in range(32)]
    state = State({2: [a & FULL for a in addresses], 3: [a >> 32 for a in addresses]})
    after = run(on, "LEA.HI.X P2, R5, R2, RZ, R3", state)
    assert after.registers[5] == state.registers[3]
    assert after.predicates[2] == 0x99999999
