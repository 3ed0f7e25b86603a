"""Products of matrices in compiled code, word for word what the step engine computes."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest

from gpudbg.isa.volta import assemble, decode
from gpudbg.sm.engines import tensor_product
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.fragments import multiplication

Words = npt.NDArray[np.uint32]

TEXTS = {
    "f16.f32.2": "HMMA.1688.F32 R8, R4, R6, R8",
    "f16.f32.4": "HMMA.16816.F32 R8, R4, R20, R8",
    "f16.f16.2": "HMMA.1688.F16 R8, R4, R6, R8",
    "f16.f16.4": "HMMA.16816.F16 R8, R4, R20, R8",
    "bf16.f32.2": "HMMA.1688.F32.BF16 R8, R4, R6, R8",
    "bf16.f32.4": "HMMA.16816.F32.BF16 R8, R4, R20, R8",
    "tf32.f32.2": "HMMA.1684.F32.TF32 R8, R4, R6, R8",
    "tf32.f32.4": "HMMA.1688.F32.TF32 R8, R4, R20, R8",
}
"""A function of the library, without the unit, to an instruction that it computes."""


def _aligned(rows: int) -> Words:
    raw = np.zeros(128 * rows + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 128 * rows].view(np.uint32).reshape(rows, 32)


def _elements(random: np.random.Generator, kind: str, rows: int, spread: int) -> Words:
    """Registers of elements whose exponents lie so far apart; some zeros, and some tiny ones."""
    shape = (rows, 32, 1 if kind in ("tf32", "f32") else 2)
    values = random.standard_normal(shape) * np.exp2(random.integers(-spread, spread + 1, shape))
    values[random.random(shape) < 0.15] = 0
    if kind == "f16":
        raw = np.clip(values, -6e4, 6e4).astype(np.float16).view(np.uint16)
        tiny = random.random(shape) < 0.05
        raw = np.where(tiny, raw & 0x83FF, raw)
        return np.ascontiguousarray(raw.astype(np.uint16)).view(np.uint32)[..., 0]
    single = values.astype(np.float32).view(np.uint32)
    if kind == "bf16":
        half = (single >> 16).astype(np.uint16)
        return np.ascontiguousarray(half).view(np.uint32)[..., 0]
    return single[..., 0]


def _call(name: str, operands: list[Words], count: int) -> tuple[bool, Words]:
    """What a function of the library gives."""
    given = _aligned(sum(len(o) for o in operands) + count)
    given[:-count] = np.concatenate(operands)
    address = build.library().address(layout.symbol(name))
    function = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * len(given))(address)
    done = function(*[row.ctypes.data for row in given])
    return done, given[-count:]


FLOATS = [n for n in layout.TENSOR if n.startswith("hmma.") and not n.endswith(".sp")]
NARROW = [n for n in layout.TENSOR if n.startswith("qmma.") and not n.endswith(".sp")]
INTEGERS = [
    "imma.s8.u8.1", "imma.u8.s8.2.sat", "imma.s8.s8.4.sat", "imma.s4.u4.1", "imma.u4.s4.2",
    "imma.s4.s4.4", "bmma.and.1", "bmma.xor.2", "bmma.and.4", "dmma.884",
]  # fmt: skip


def _integer_text(name: str) -> str:
    """An instruction that such a function computes."""
    what, *about = name.split(".")
    operands = "R8, R4.ROW, R20.COL, R8"
    if what == "dmma":
        return "DMMA.884 R8, R4, R6, R8"
    count = int(about[1] if what == "bmma" else about[2])
    rows = "8" if count == 1 else "16"
    if what == "bmma":
        depth = 128 * max(1, count // 2)
        return f"BMMA.{rows}8{depth}.{about[0].upper()}.POPC {operands}"
    depth = 16 * max(1, count // 2) * 8 // int(about[0][1:])
    kinds = f"{about[0]}.{about[1]}".upper()
    return f"IMMA.{rows}8{depth}.{kinds}{'.SAT' * name.endswith('.sat')} {operands}"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_products(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any bits; doubles of any size, subnormal ones among them."""
    _with_least_effort(monkeypatch)
    arch = "sm_75" if name.startswith("imma") and ".1" in name else "sm_80"
    insn = decode(assemble(_integer_text(name), 0, arch), arch)
    shape = multiplication(insn)
    assert shape is not None
    layouts = [operand.layout for operand in (shape.a, shape.b, shape.c)]
    random = np.random.default_rng(5)
    for limit in (1 << 32, 1 << 32, 1 << 16):
        operands = []
        for held in layouts:
            assert held is not None
            words = random.integers(0, limit, (held.registers, 32), dtype=np.uint64)
            operands.append(words.astype(np.uint32))
        for held_words in operands if name == "dmma.884" else ():
            exponents = random.integers(1000, 1050, 32) << 20
            held_words[1::2] = held_words[1::2] & 0x800FFFFF | exponents
        operands[2][0, :8] = 0x7FFFFF00 if name != "dmma.884" else 0
        good, found = _call(name, operands, len(operands[2]))
        wanted = tensor_product.product(insn.op, insn.m, arch, shape, [list(o) for o in operands])
        assert good
        assert np.array_equal(found, np.stack(wanted))


def _with_least_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    made = build.object_of
    monkeypatch.setattr(build, "object_of", lambda text, _, passes="none": made(text, 0, passes))
    monkeypatch.setattr(build.library(), "_made", {})


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", FLOATS)
def test_products(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements of any size, and addends far above and below the products."""
    _with_least_effort(monkeypatch)
    _, kind, result, counted, bits = name.split(".")
    arch = "sm_80" if bits == "24" else "sm_90"
    insn = decode(assemble(TEXTS[f"{kind}.{result}.{counted}"], 0, arch), arch)
    shape = multiplication(insn)
    assert shape is not None
    count, words = int(counted), 2 if result == "f16" else 4
    random, done = np.random.default_rng(len(name)), 0
    for spread in (1, 4, 12, 3, 3, 2, 7, 5):
        operands = [
            _elements(random, kind, count, spread),
            _elements(random, kind, count // 2, spread),
            _elements(random, result, words, 2 * spread),
        ]
        good, found = _call(name, operands, words)
        fragments = [list(registers) for registers in operands]
        wanted = tensor_product.product(insn.op, insn.m, arch, shape, fragments)
        if good:
            done += 1
            assert np.array_equal(found, np.stack(wanted)), spread
    assert done > 4


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_what_is_left_to_the_step_engine(kind: str) -> None:
    """Infinities among elements, and addends that overflow or that f32 does not hold in full."""
    random = np.random.default_rng(3)
    name = f"hmma.{kind}.f32.2.24"
    for operand, word in ((0, 0x7C007F80), (2, 0x7F800000), (2, 0x7FC00000), (2, 0x00000001)):
        operands = [_elements(random, k, n, 1) for k, n in ((kind, 2), (kind, 1), ("f32", 4))]
        assert _call(name, operands, 4)[0]
        operands[operand][1, 7] = 0x7F800000 if kind == "tf32" else word
        assert not _call(name, operands, 4)[0]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", NARROW)
def test_products_of_bytes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements of both formats with any exponent, subnormal ones and zeros, signs, and addends far
    above and below the products; NaNs and infinities are left to the step engine."""
    _with_least_effort(monkeypatch)
    _, *kinds, result, counted, unit = name.split(".")
    arch = f"sm_{unit}"
    # What warp groups of sm_90 multiply eight columns at a time is no instruction by itself.
    sides = ("R4.ROW", "R20.COL") if unit == "89" else ("R4", "R20")
    assembled = "sm_120" if unit == "90" else arch
    depth = 8 * int(counted)
    types = ".".join((result, *kinds)).upper()
    text = f"QMMA.168{depth}.{types} R8, {', '.join(sides)}, R8"
    insn = decode(assemble(text, 0, assembled), assembled)
    shape = multiplication(insn)
    assert shape is not None
    count, words = int(counted), 2 if result == "f16" else 4
    random = np.random.default_rng(len(name))
    top = {"e4m3": 0x7F, "e5m2": 0x7C}
    for spread in (1, 6, 12, 3, 2):
        # The first of two blocks must not overflow f16.
        most = 128 if result == "f32" else 60
        raw = [random.integers(0, most, (n, 32, 4)) for n in (count, count // 2)]
        for given, kind in zip(raw, kinds, strict=True):
            near = random.random(given.shape) < 0.7
            given[near] = top[kind] // 2 + random.integers(-4 * spread, 4 * spread, near.sum())
            given[given >= min(top[kind], most)] = 0
            given[random.random(given.shape) < 0.15] = 0
            given |= random.integers(0, 2, given.shape) << 7
        held = _elements(random, result, words, spread if result == "f32" else spread // 2)
        operands = [g.astype(np.uint8).view(np.uint32)[..., 0] for g in raw]
        good, found = _call(name, [*operands, held], words)
        fragments = [list(registers) for registers in (*operands, held)]
        wanted = tensor_product.product("QMMA", insn.m, arch, shape, fragments)
        assert good
        assert np.array_equal(found, np.stack(wanted)), spread
        for n, kind in enumerate(kinds):
            odd = [operand.copy() for operand in operands]
            odd[n][1 - n, 9] |= 0x7F << 16 if kind == "e4m3" else 0x7C00
            assert not _call(name, [*odd, held], words)[0]
