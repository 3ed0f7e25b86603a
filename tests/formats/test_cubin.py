"""Cubins: what the compilers wrote comes out, code is placed, relocations land."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import LoadError
from gpudbg.formats import nvinfo
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.layout import relocate
from gpudbg.formats.program import CODE_ALIGN, CodeImage, Function, Param, Program
from gpudbg.formats.relocations import TYPES, type_name
from tests.kernel_cases import DATA, KERNELS

CUBINS = sorted(DATA.rglob("*.cubin"))
PARAM_BASES = {"sm_75": 0x160, "sm_80": 0x160, "sm_90": 0x210, "sm_120": 0x380}
HERE = Path(__file__).resolve().parent / "data"


def cubin(name: str, variant: str = "sm_50") -> Program:
    """A program of the kernel corpus."""
    return read_cubin(KERNELS / "cubin" / variant / f"{name}.cubin")


def placed(program: Program, base: int = 0x1000) -> tuple[CodeImage, dict[str, int]]:
    """The program at a base, its segments far above, and where these are."""
    at = {name: 0x7F00_0000_0000 + 0x10000 * i for i, name in enumerate(program.segments)}
    return relocate(program, base, at), at


def function_at(image: CodeImage, address: int) -> tuple[Function, int]:
    """The function that holds an address, and the offset in it."""
    found = image.function_at(address)
    assert found is not None
    return found


def word(image: CodeImage, address: int) -> int:
    """The code word at an address."""
    start = address - image.base
    return int.from_bytes(image.code[start : start + 8], "little")


@pytest.mark.in_turn(40)
@pytest.mark.parametrize("path", CUBINS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_sample_loads_and_places(path: Path) -> None:
    program = read_cubin(path)
    image, _ = placed(program)
    assert (
        program.arch.rstrip("a") in str(path) or program.arch in path.stem or "bench" in str(path)
    )
    for kernel in program.kernels.values():
        entry = image.entries[kernel.name]
        assert entry % CODE_ALIGN == 0
        assert image.describe(entry + 0x48) == f"{kernel.name}+0x48"
        assert function_at(image, entry)[0].is_kernel
        assert kernel.param_base == PARAM_BASES.get(program.arch.rstrip("a"), 0x140)
        images = 4 * len(image.bound_images[kernel.name])
        assert len(image.banks[kernel.name][0]) == kernel.param_base + kernel.param_bytes + images
        ends = [p.offset + p.size for p in kernel.params]
        assert all(a <= p.offset for a, p in zip(ends, kernel.params[1:], strict=False))
        assert max(ends, default=0) <= kernel.param_bytes
        assert 0 < kernel.num_regs <= 255
        for offset in (*kernel.exit_offsets, *(b.offset for b in kernel.indirect_branches)):
            assert offset < len(kernel.code)
            assert program.layout.holds_instruction(offset)


def test_kernel_facts() -> None:
    program = cubin("saxpy")
    assert list(program.kernels) == ["daxpy", "saxpy"]
    saxpy = program.kernels["saxpy"]
    assert saxpy.params == (Param(0, 0, 4), Param(1, 4, 4), Param(2, 8, 8), Param(3, 16, 8))
    assert (saxpy.num_regs, saxpy.num_barriers, saxpy.param_bytes) == (10, 0, 24)
    assert (saxpy.frame_bytes, saxpy.min_stack_bytes, saxpy.crs_stack_bytes) == (0, 0, 0x210)
    assert saxpy.exit_offsets == (0x58, 0x110)
    assert saxpy.code == program.data[saxpy.file_offset :][: len(saxpy.code)]
    assert program.toolkit == "12.9"
    assert not program.debug


@pytest.mark.parametrize(
    ("name", "kernel", "facts"),
    [
        ("barriers", "barriers", {"num_barriers": 4, "shared_static_bytes": 512}),
        ("recursion", "recursion", {"min_stack_bytes": 0, "crs_stack_bytes": 0xA00}),
        ("local_array", "local_array", {"frame_bytes": 224, "local_bytes": 224}),
        ("matmul_tiled", "matmul_tiled", {"shared_static_bytes": 2112, "num_regs": 30}),
        ("constant_mem", "constant_mem", {"bank_sizes": {0: 356, 3: 336, 4: 16}}),
    ],
)
def test_more_kernel_facts(name: str, kernel: str, facts: dict[str, object]) -> None:
    found = cubin(name).kernels[kernel]
    assert {key: getattr(found, key) for key in facts} == facts


def test_unknown_stack_is_none() -> None:
    kernel = cubin("recursion", "sm_50-G").kernels["recursion"]
    assert kernel.min_stack_bytes is None
    assert kernel.crs_stack_bytes is None
    assert kernel.frame_bytes == kernel.local_bytes == 16


def test_globals_and_constants() -> None:
    program = cubin("constant_mem")
    assert {g.name: (g.space, g.segment, g.offset, g.size) for g in program.globals.values()} == {
        "coef": ("const", ".nv.constant3", 0, 64),
        "perm": ("const", ".nv.constant3", 64, 256),
        "scale": ("const", ".nv.constant3", 320, 16),
        "counter": ("global", ".nv.global.init", 0, 4),
        "odds": ("global", ".nv.global.init", 4, 16),
    }
    image, at = placed(program)
    bank4 = struct.unpack("<2Q", image.banks["constant_mem"][4])
    assert bank4 == (at[".nv.global.init"], at[".nv.global.init"] + 4)
    assert len(image.banks["constant_mem"][3]) == 336
    assert image.segments[".nv.constant3"] == image.banks["constant_mem"][3]


def test_functions_inside_a_kernel() -> None:
    program = cubin("func_ptr")
    image, _ = placed(program)
    entry = image.entries["func_ptr"]
    inner, offset = function_at(image, entry + 0x3A8)
    assert (inner.label, offset, inner.is_kernel) == ("_Z6op_mulii", 8, False)
    assert image.describe(entry + 0x3A8) == "func_ptr+0x3a8"
    table = program.globals["table"]
    targets = struct.unpack_from("<4Q", image.segments[table.segment], table.offset)
    starts = {f.offset for f in program.functions.values() if not f.is_kernel}
    assert set(targets) == starts, "section offsets, as BRX adds them to its own section"


def test_calls_across_sections_reach_their_functions() -> None:
    program = cubin("recursion", "sm_50-G")
    image, _ = placed(program)
    calls = [r for r in program.relocations if r.type == 42]
    assert len(calls) == 7
    for call in calls:
        target = word(image, image.address_in(call.section, call.offset)) >> 20 & 0xFFFFFFFF
        name = program.symbols[call.symbol].name
        assert image.function_at(target) == (program.functions[name], 0)


def test_function_pointers_vtables_and_externs() -> None:
    """Two kernels with a table of function pointers, virtual calls and printf, -G build."""
    program = read_cubin(HERE / "pointers-G.cubin")
    image, at = placed(program)
    assert list(image.externs.values()) == ["vprintf"]
    (stub,) = image.externs
    assert stub > image.end
    assert program.kernels["k2"].externs == ("vprintf",)
    assert image.section_offset(stub) is None
    assert image.describe(stub + 8) == "vprintf"
    init = image.segments[".nv.global.init"]
    for name, names in (
        ("table", ("_Z3addii", "_Z3mulii")),
        ("_ZTV1B", (None, None, "_ZN1B1fEi")),
        ("_ZTV1D", (None, None, "_ZN1D1fEi")),
    ):
        entry = program.globals[name]
        values = struct.unpack_from(f"<{len(names)}Q", init, entry.offset)
        got = [function_at(image, v)[0].name if v else None for v in values]
        assert got == list(names)
    pairs = [r for r in program.relocations if r.type in (43, 44)]
    table = at[".nv.global.init"] + program.globals["table"].offset
    for r in pairs:
        if program.symbols[r.symbol].name == "table":
            half = word(image, image.address_in(r.section, r.offset)) >> 20 & 0xFFFFFFFF
            assert half == (table & 0xFFFFFFFF if r.type == 43 else table >> 32)
    jcal = next(r for r in program.relocations if program.symbols[r.symbol].name == "vprintf")
    assert word(image, image.address_in(jcal.section, jcal.offset)) >> 20 & 0xFFFFFFFF == stub


def test_externs_of_an_optimised_build_are_addresses_in_bank_4() -> None:
    program = read_cubin(HERE / "pointers.cubin")
    image, _ = placed(program)
    (stub,) = image.externs
    assert int.from_bytes(image.banks["k2"][4][:4], "little") == stub


def test_bound_images_wait_for_handles() -> None:
    program = cubin("bound_images")
    image, _ = placed(program)
    assert dict(program.images) == {"tex_a": "texture", "surf_a": "surface", "surf_b": "surface"}
    assert {(b.offset, b.kind, b.symbol) for b in image.bound_images["bound_images"]} == {
        (0x14C, "texture", "tex_a"),
        (0x150, "surface", "surf_a"),
        (0x154, "surface", "surf_b"),
    }
    assert all(b.bank == 0 for b in image.bound_images["bound_images"])


def test_code_base_moves_everything_but_offsets() -> None:
    program = cubin("reduce_sum", "sm_50-G")
    low, _ = placed(program, 0x1000)
    high, _ = placed(program, 0x40000)
    moved = 0x40000 - 0x1000
    assert [p.address + moved for p in low.placements] == [p.address for p in high.placements]
    for r in program.relocations:
        if r.type == 42:
            spot = low.address_in(r.section, r.offset)
            assert (word(high, spot + moved) >> 20) - (word(low, spot) >> 20) == moved


def test_attribute_numbers() -> None:
    by_name = {name: code for code, name in nvinfo.NAMES.items()}
    for name, code in (
        ("PARAM_CBANK", 0x0A), ("EXTERNS", 0x0F), ("KPARAM_INFO", 0x17), ("CRS_STACK_SIZE", 0x1E),
        ("REGCOUNT", 0x2F), ("INDIRECT_BRANCH_TARGETS", 0x34), ("CUDA_API_VERSION", 0x37),
        ("UNUSED_LOAD_BYTE_OFFSET", 0x44),
    ):  # fmt: skip
        assert by_name[name] == code


def test_launch_bounds() -> None:
    program = read_cubin(HERE / "bounds.cubin")
    assert program.kernels["bounded"].max_threads == (128, 1, 1)
    required = read_cubin(HERE / "required.cubin").kernels["required"]
    assert required.required_threads == (8, 4, 2)
    assert required.params == ()
    assert program.kernels["bounded"].params == (Param(0, 0, 24), Param(1, 24, 1), Param(2, 32, 8))


# ---- refusals ----------------------------------------------------------------------------


def patched(data: bytes, offset: int, new: bytes) -> bytes:
    """`data` with bytes replaced."""
    return data[:offset] + new + data[offset + len(new) :]


SAXPY = (KERNELS / "cubin/sm_50/saxpy.cubin").read_bytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"x: no ELF magic \(starts with nothing\)"),
        (b"#include <cuda.h>", r"x: no ELF magic \(starts with 23 69 6e 63\)"),
        (SAXPY[:40], r"x at offset 0x28: truncated: an ELF header has 64 bytes"),
        (SAXPY[:-64], r"x at offset 0x[0-9a-f]+: truncated"),
        (SAXPY[: len(SAXPY) // 2], r"x at offset 0x[0-9a-f]+: truncated"),
        (patched(SAXPY, 4, b"\1"), "x at offset 0x4: a 32-bit ELF file"),
        (patched(SAXPY, 5, b"\2"), "x at offset 0x5: not a little-endian"),
        (patched(SAXPY, 18, b"\x3e\0"), "x at offset 0x12: an ELF file for x86_64, not a cubin"),
        (patched(SAXPY, 48, b"\x1e"), "is for sm_30, which is not supported .supported: sm_50"),
        (patched(SAXPY, 48, b"\x25"), "is for sm_37, which is not supported"),
        (patched(SAXPY, 40, b"\xff\xff\xff\0"), "truncated: [0-9]+ section headers"),
        (patched(SAXPY, 60, b"\0\0"), "has no section table"),
    ],
)
def test_refusals_name_file_and_place(data: bytes, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        read_cubin(data, "x")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"nothing\.cubin: cannot be read: No such file"):
        read_cubin(tmp_path / "nothing.cubin")
    with pytest.raises(LoadError, match="cannot be read: Is a directory"):
        read_cubin(tmp_path)


def test_no_kernels() -> None:
    program = read_cubin(SAXPY)
    table = next(s for s in program.sections.values() if s.type == 2)
    data = bytearray(SAXPY)
    for row in range(table.size // 24):
        data[table.offset + 24 * row + 5] = 0
    with pytest.raises(LoadError, match="contains no kernels"):
        read_cubin(bytes(data), "x")


def test_unknown_relocation_is_named() -> None:
    data = (KERNELS / "cubin/sm_50-G/recursion.cubin").read_bytes()
    first = read_cubin(data).relocations[0]
    for number, message in (
        (999, "type 999 .* is unknown"),
        (55, "R_CUDA_ABS32_32 .55. .* does not exist on sm_50"),
    ):
        program = read_cubin(patched(data, first.file_offset + 8, struct.pack("<I", number)), "x")
        with pytest.raises(LoadError, match=rf"x at offset 0x{first.file_offset:x}: .*{message}"):
            relocate(program)


def test_relocation_outside_its_section() -> None:
    data = (KERNELS / "cubin/sm_50-G/recursion.cubin").read_bytes()
    first = read_cubin(data).relocations[0]
    program = read_cubin(patched(data, first.file_offset, struct.pack("<Q", 1 << 40)), "x")
    with pytest.raises(LoadError, match="lies outside the section"):
        relocate(program)


def test_segment_without_an_address() -> None:
    with pytest.raises(LoadError, match=r"needs the address of \.nv\.global\.init"):
        relocate(cubin("func_ptr"))


def test_function_pointers_of_an_object_that_is_not_linked() -> None:
    """Their calls name a table of functions, which only the linker of several GPUs' code makes."""
    program = gpudbg.load(HERE / "steps.cubin", engine="step")
    values = program.device.buffer(np.arange(32, dtype=np.int32))
    with program.launch(block=32, args=[values]) as session:
        session.run().check()
    assert values[:4].tolist() == [1, 4, 5, 10]


def test_relocation_types_are_all_named() -> None:
    assert type_name(42) == "R_CUDA_ABS32_20 (42)"
    assert type_name(4711) == "type 4711"
    assert set(range(116)) <= set(TYPES)
    names = [t.name for t in TYPES.values()]
    assert len(set(names)) == len(names)


def test_addresses_of_shared_constant_and_global_variables() -> None:
    program = read_cubin(HERE / "shared-G.cubin")
    image, at = placed(program)
    pointer = program.globals["where"]
    init = image.segments[pointer.segment]
    assert int.from_bytes(init[pointer.offset :][:8], "little") == at[".nv.global"]
    assert program.segments[".nv.global"].init == b""
    assert program.segments[".nv.global"].size == 4
    names = {v.name: (v.kernel, v.offset, v.size) for v in program.shared_vars}
    assert names["_ZZ6sharedE5fixed"] == ("shared", 0, 128)
    assert program.kernels["shared"].shared_static_bytes == 128


def test_extern_shared_array_is_named() -> None:
    program = read_cubin(HERE / "shared-G.cubin")
    names = {v.name: (v.kernel, v.offset, v.size) for v in program.shared_vars}
    assert names["dynamic"] == ("", 128, 0)
