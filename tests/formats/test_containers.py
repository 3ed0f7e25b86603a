"""Fat binaries, host ELF files, raw words: what a path can hold, and refusals."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import LoadError, UsageError
from gpudbg.formats import fatbin
from gpudbg.formats.fatbin import FatbinImage, read_images
from gpudbg.formats.files import pick, read_program
from gpudbg.formats.launch import Launch, RawSpec, ScalarArg, SmSpec, pick_kernel
from gpudbg.formats.layout import relocate
from gpudbg.formats.program import Param, runs_on
from gpudbg.formats.raw import read_raw
from tests.kernel_cases import KERNELS

HERE = Path(__file__).resolve().parent / "data"
SAXPY = (KERNELS / "cubin/sm_50/saxpy.cubin").read_bytes()


def images(name: str) -> tuple[FatbinImage, ...]:
    """Entries of a file in the data folder."""
    return read_images((HERE / name).read_bytes(), name)


# ---- fat binaries ------------------------------------------------------------------------


def test_plain_container() -> None:
    found = images("plain.fatbin")
    assert [(i.kind, i.arch, i.compression, i.name) for i in found] == [
        ("elf", "sm_50", "", "sample.cu"),
        ("elf", "sm_52", "", "sample.cu"),
        ("ptx", "sm_50", "", "sample.cu"),
    ]
    assert found[0].read() == SAXPY
    assert b".visible .entry jump_table" in found[2].read()


def test_lz4_container() -> None:
    cubin, ptx = images("lz4.fatbin")
    assert (cubin.compression, cubin.size) == ("lz4", len(SAXPY))
    assert cubin.read() == SAXPY
    assert ptx.read().rstrip(b"\0") == images("plain.fatbin")[2].read().rstrip(b"\0")


def test_zstd_container_is_read_or_named() -> None:
    """Python has no Zstandard module of its own yet; the message says what helps."""
    cubin, _ = images("zstd.fatbin")
    assert cubin.compression == "zstd"
    try:
        assert cubin.read() == SAXPY
    except LoadError as error:
        assert "install the package zstandard" in str(error)  # noqa: PT017


def test_host_file_with_two_containers() -> None:
    found = images("host.o")
    assert [i.arch for i in found if i.kind == "elf"] == ["sm_50", "sm_50", "sm_52"]
    program = read_program(HERE / "host.o")
    assert (program.arch, list(program.kernels)) == ("sm_50", ["daxpy", "saxpy"])
    assert read_program(HERE / "host.o", arch="sm_53").arch == "sm_52"


def test_choice_by_architecture() -> None:
    assert read_program(HERE / "plain.fatbin").arch == "sm_50"
    assert read_program(HERE / "plain.fatbin", arch="sm_52").arch == "sm_52"
    with pytest.raises(
        LoadError, match="no cubin for sm_61; it holds elf for sm_50, elf for sm_52"
    ):
        read_program(HERE / "plain.fatbin", arch="sm_61")
    assert runs_on("sm_50", "sm_53")
    assert not runs_on("sm_53", "sm_50")
    assert not runs_on("sm_50", "sm_60")


def test_choice_by_kernel() -> None:
    other = (KERNELS / "cubin/sm_50/crc32.cubin").read_bytes()
    held = tuple(
        fatbin.FatbinImage("elf", "sm_50", "", False, "", len(d), "two", 0, d)
        for d in (SAXPY, other)
    )
    assert list(pick(held, "two", kernel="crc32").kernels) == ["crc32"]
    first = pick(held, "two")
    assert (list(first.kernels), first.elsewhere) == (["daxpy", "saxpy"], ("crc32",))
    with pytest.raises(UsageError, match="two has 3 kernels; name one of: daxpy, saxpy, crc32"):
        pick_kernel(first, None)


def test_host_file_without_device_code() -> None:
    data = bytearray(SAXPY)
    data[18:20] = b"\x3e\0"
    with pytest.raises(
        LoadError, match="x at offset 0x12: an ELF file for x86_64 without device code"
    ):
        read_program(bytes(data), "x")


def test_lz4_blocks_by_hand() -> None:
    assert fatbin._lz4(b"\x10A", 1) == b"A"
    tail = bytes(range(12))
    assert fatbin._lz4(b"\x1fA\x01\x00\x05\xc0" + tail, 99) == b"A" * 25 + tail
    long = bytes(range(256)) * 2
    assert fatbin._lz4(b"\xf0" + bytes([255, len(long) - 15 - 255]) + long, 999) == long
    for bad in (b"\x20A", b"\x10A\x02\x00", b"\x10A\x00\x00\x10B", b"\xf0", b"\x1fA\x01\x00\xff"):
        image = fatbin.FatbinImage("elf", "sm_50", "lz4", False, "", 99, "x", 7, bad)
        with pytest.raises(LoadError, match="x at offset 0x7: damaged lz4 data"):
            image.read()


def test_truncated_containers() -> None:
    data = (HERE / "lz4.fatbin").read_bytes()
    for length in (*range(4, 120, 9), len(data) - 1):
        with pytest.raises(LoadError, match="x at offset"):
            read_images(data[:length], "x")


@settings(max_examples=300)
@given(st.sampled_from(["lz4.fatbin", "plain.fatbin", "host.o"]), st.data())
def test_mutated_containers(name: str, data: st.DataObject) -> None:
    body = bytearray((HERE / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        spot = data.draw(st.integers(0, 300) | st.integers(0, len(body) - 1))
        body[spot] = data.draw(st.integers(0, 255))
    with suppress(LoadError):
        for image in read_images(bytes(body), "x"):
            with suppress(LoadError):
                image.read()


# ---- raw words ---------------------------------------------------------------------------

BUNDLE = struct.pack("<4Q", 0x001F8000FC0007E0, *[0x50B0000000070F00] * 3)


def test_raw_words() -> None:
    table = Launch(
        kernel="mine",
        sm=SmSpec("sm_52"),
        raw=RawSpec(num_regs=20, num_barriers=2, params=(4, 8, 1), shared_bytes=64),
    )
    program = read_raw(BUNDLE * 3, "dir/prog.bin", table)
    kernel = program.kernels["mine"]
    assert (program.arch, program.raw, kernel.num_regs, kernel.num_barriers) == (
        "sm_52",
        True,
        20,
        2,
    )
    assert kernel.params == (Param(0, 0, 4), Param(1, 8, 8), Param(2, 16, 1))
    assert kernel.shared_static_bytes == 64
    image = relocate(program)
    assert image.code[: 3 * 32] == BUNDLE * 3
    assert image.describe(image.entries["mine"] + 0x48) == "mine+0x48"
    assert len(image.banks["mine"][0]) == 0x140 + 17


def test_raw_defaults() -> None:
    table = Launch(block=(1024, 1, 1), args=(ScalarArg("f64", 1.0), ScalarArg("int", 1)))
    kernel = read_raw(BUNDLE, "a/1-x.bin", table, "sm_50").kernels["kernel_1_x"]
    assert [p.size for p in kernel.params] == [8, 4]
    assert kernel.num_regs == 64


@pytest.mark.parametrize(
    ("data", "arch", "message"),
    [
        (b"", "sm_50", "is empty"),
        (BUNDLE[:-1], "sm_50", "x has 31 bytes: neither an ELF file nor"),
        (BUNDLE, None, "need an architecture"),
        (BUNDLE, "sm_30", "architecture sm_30 is not supported"),
        (b"hello world, this is just text!\n", "sm_50", "is text"),
        (b"\xff" * 32, "sm_50", "does not start with a control word"),
    ],
)
def test_raw_refusals(data: bytes, arch: str | None, message: str) -> None:
    with pytest.raises(LoadError, match=message.replace("x has", ".*has")):
        read_raw(data, "x", None, arch)


def test_any_file(tmp_path: Path) -> None:
    raw = tmp_path / "prog.bin"
    raw.write_bytes(BUNDLE)
    with pytest.raises(LoadError, match=r"raw words need prog\.toml or --arch"):
        read_program(raw)
    (tmp_path / "prog.toml").write_text('[sm]\narch = "sm_53"\n')
    assert read_program(raw).arch == "sm_53"
    assert read_program(raw, arch="sm_50").arch == "sm_50"
    assert read_program(SAXPY).path == "<bytes>"
    with pytest.raises(LoadError, match="truncated"):
        read_program(SAXPY[:30])


def test_names_out_of_a_damaged_file_stay_on_the_line() -> None:
    error = LoadError("symbol a\nb\x1b[31mé", path="x\ny", offset=16)
    assert str(error) == r"x\ny at offset 0x10: symbol a\nb\x1b[31mé"
