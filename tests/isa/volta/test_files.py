"""Cubins of sm_70 and later: dis and info of them against cuobjdump's recorded listings.

`cubins/` holds `tests/kernels_own/src/ballot_compact.cu` as NVRTC 12.9 compiles it; a line of a
listing is `PC WORD TEXT`, of cuobjdump 12.4 to sm_90a and 13.5 from sm_100a on.
"""

from __future__ import annotations

import json
import re
import struct
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from gpudbg.assembler.build import assemble_file
from gpudbg.cli import main
from gpudbg.formats.cubin import architecture, read_cubin

HERE = Path(__file__).parent / "cubins"
PARAM_BASE = {"sm_90a": 0x210, "sm_100a": 0x380, "sm_120a": 0x380}
ARCHS = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90a", "sm_100a", "sm_120a")
_LINE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s+/\* 0x([0-9a-f]{16}) \*/")
_SECOND = re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")


def cubin(arch: str) -> Path:
    """The kernel for one architecture."""
    return HERE / f"ballot_compact.{arch}.cubin"


def listed(text: str) -> list[str]:
    """Instructions of a listing, one a line, as in the recorded files."""
    out: list[str] = []
    for line in text.splitlines():
        if found := _LINE.match(line):
            out.append(f"{found[1]} {found[3]} {found[2]}")
        elif (found := _SECOND.match(line)) and out:
            pc, low, rest = out[-1].split(" ", 2)
            out[-1] = f"{pc} {found[1]}{low} {rest}"
    return out


@pytest.mark.parametrize("arch", ARCHS)
def test_dis_prints_what_cuobjdump_prints(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Addresses, texts and both halves of every word."""
    assert main(["dis", str(cubin(arch))]) == 0
    out = capsys.readouterr().out
    assert f"\n\tcode for {arch}\n" in out
    assert listed(out) == cubin(arch).with_suffix(".txt").read_text().splitlines()


def test_dis_as_data_and_with_fields(capsys: pytest.CaptureFixture[str]) -> None:
    """--json, --control fields, --no-bytes, --range; what is missing is refused by name."""
    file = str(cubin("sm_80"))
    assert main(["dis", file, "--json"]) == 0
    rows = [row for f in json.loads(capsys.readouterr().out) for row in f["instructions"]]
    want = cubin("sm_80").with_suffix(".txt").read_text().splitlines()
    assert [f"{x['offset']:04x} {x['word'][2:]} {x['text']}" for x in rows] == want
    assert main(["dis", file, "--control", "fields", "--no-bytes", "--range", "0x10:0x20"]) == 0
    line, *_ = re.findall(r".*/\*0010\*/.*", capsys.readouterr().out)
    assert re.search(r" ;\s+B[-0-5]{6}:R.:W.:[Y-]:S\d\d:[-0-2]{3}$", line)
    assert main(["dis", file, "--braces"]) == 2
    assert "--braces is not there for 128-bit instructions (sm_80)" in capsys.readouterr().err


@pytest.mark.parametrize("arch", ARCHS)
def test_info(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Registers, instructions and where the parameters begin."""
    assert main(["info", str(cubin(arch)), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["arch"] == arch
    listing = cubin(arch).with_suffix(".txt").read_text().splitlines()
    assert sum(kernel["instructions"] for kernel in data["kernels"]) == len(listing)
    assert all(8 <= kernel["registers"] < 64 for kernel in data["kernels"])
    program = read_cubin(cubin(arch), bare=True, archs=(arch,))
    bases = {kernel.param_base for kernel in program.kernels.values()}
    assert bases == {PARAM_BASE.get(arch, 0x160)}
    assert architecture(cubin(arch).read_bytes(), "x") == arch


def test_a_launch_table_is_proposed_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`info --launch` writes a table with which `run` ends cleanly."""
    assert main(["info", str(cubin("sm_80")), "--launch", "--kernel", "count_kept"]) == 0
    table = tmp_path / "launch.toml"
    table.write_text(capsys.readouterr().out)
    assert main(["run", str(cubin("sm_80")), "--launch", str(table)]) == 0
    assert "warp instructions" in capsys.readouterr().out


def test_shared_memory_of_the_system_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """%total_smem_size is the kernel's 512 bytes, %aggr_smem_size all 1536 of the CTA (sm_90).

    `shared_sizes.cubin` is made by `ptxas -arch=sm_90 shared_sizes.ptx` (12.9).
    """
    file = Path(__file__).parents[2] / "formats" / "data" / "shared_sizes.cubin"
    assert main(["run", str(file), "--block", "32", "-a", "p=u32[2]"]) == 0
    assert "512 1536" in capsys.readouterr().out


def test_hazard_check_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What ptxas made has no findings in a run."""
    program, table = str(cubin("sm_80")), tmp_path / "launch.toml"
    assert main(["info", program, "--launch", "--kernel", "count_kept"]) == 0
    table.write_text(capsys.readouterr().out)
    assert main(["run", program, "--launch", str(table), "--check", "hazards"]) == 0
    assert "hazards: no findings" in capsys.readouterr().out


CONTAINER = """
Fatbin elf code:
================
arch = sm_90a
code version = [1,7]
host = linux
compile_size = 64bit
has debug info
identifier = made.cu

	code for sm_90a
		Function : """
PTX = """
Fatbin ptx code:
================
arch = sm_80
code version = [8,0]
host = linux
compile_size = 64bit
ptxasOptions = -O1
"""


def test_entries_of_a_fat_binary_say_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As cuobjdump 13.5 prints them: every architecture in order, PTX by its name alone."""

    def entry(kind: int, version: tuple[int, int], arch: int, flags: int, *parts: bytes) -> bytes:
        head, payload = parts
        payload += bytes(-len(payload) % 8)
        name, size = (64, 7) if kind == 2 else (0, 0)
        words = (kind, 0x101, 64 + len(head), len(payload), 0, 64 * (kind == 1), *version, arch)
        return struct.pack("<HHIQIIHHIIIQQQ", *words, name, size, flags, 0, 0) + head + payload

    options = struct.pack("<II", 72, 3) + b"-O1".ljust(8, b"\0")
    code = cubin("sm_90a").read_bytes()
    body = entry(2, (7, 1), 90, 0x100013, b"made.cu\0", code)
    body += entry(1, (0, 8), 80, 0x11, options, b".version 8.0")
    body += entry(2, (8, 1), 107, 0x11, b"", code)
    file = tmp_path / "two.fatbin"
    file.write_bytes(b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, len(body)) + body)
    assert main(["dis", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(CONTAINER)
    assert PTX in out
    assert out.endswith("// not listed: no instructions of sm_107 are known here\n")
    assert main(["dis", str(file), "--arch", "sm_90"]) == 0
    assert "sm_107" not in capsys.readouterr().out
    assert main(["dis", str(file), "--arch", "sm_75"]) == 2
    assert "no cubin for sm_75; it holds elf for sm_107, elf for sm_90a" in capsys.readouterr().err


def test_uniform_guards_stand_with_the_instruction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other guards stand before the column of mnemonics (cuobjdump 12.4 and 13.5)."""
    raw = tmp_path / "words.bin"
    raw.write_bytes((0x000FE2000FFFE03F0000003F04068290).to_bytes(16, "little"))
    assert main(["dis", "--raw", "--arch", "sm_80", str(raw)]) == 0
    line = "        /*0000*/                   @!UP0 UIADD3 UR6, UR4, URZ, URZ ;  /* "
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_code_put_into_its_own_file_changes_nothing(arch: str, tmp_path: Path) -> None:
    """`asm --from`: architectures with a letter; counts of registers stay where they stood."""
    file, made = cubin(arch), tmp_path / "y.cubin"
    with redirect_stdout(StringIO()) as out:
        assert main(["dis", "--directives", str(file)]) == 0
    listing = tmp_path / "x.sass"
    listing.write_text(out.getvalue())
    assert main(["asm", str(listing), "--cubin", str(made), "--from", str(file)]) == 0
    assert made.read_bytes() == file.read_bytes()


def test_toolkit_13_says_in_records_what_is_accelerated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Record 9 of `.nv.compat` stands for the flag of older files (ptxas 13.5, cuobjdump 13.5)."""
    data = bytearray(cubin("sm_100a").read_bytes())
    data[0x30] &= ~8
    other = bytes((2, 3, 0, 0))
    file = tmp_path / "x.cubin"
    for record, name in ((other, "sm_100"), (bytes((2, 9, 1, 0)), "sm_100a")):
        file.write_bytes(bytes(data).replace(other, record, 1))
        assert main(["dis", str(file), "--range", "0:16"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"\n\tcode for {name}\n\t.target\t{name}\n")
        assert ("EF_CUDA_ACCELERATORS" in out) == name.endswith("a")


def test_comments_stand_in_one_column_beside_longer_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From 0x10000 on an address has more digits, which count for the column (cuobjdump)."""
    raw = tmp_path / "words.bin"
    raw.write_bytes((0x000FC60000000F0000000007000A7202).to_bytes(16, "little") * 4098)
    assert main(["dis", "--raw", "--arch", "sm_80", str(raw)]) == 0
    lines = [x for x in capsys.readouterr().out.splitlines() if x.endswith("*/")]
    assert {x.rindex("/*") for x in lines} == {lines[0].rindex("/*")}
    assert len(lines[0].split("/* ")[0]) == len(
        "        /*10000*/                   MOV R10, R7 ;  "
    )


@pytest.mark.parametrize("change", [False, True])
def test_relocatable_objects_come_back(
    change: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Undefined symbols, relocations without a symbol, files without a function."""
    file, listing, made = tmp_path / "x.cubin", tmp_path / "x.sass", tmp_path / "y.cubin"
    text = """
.arch sm_80
.kernel k
.reloc 0x0, 69, -
.reloc 0x0, 68, -, 280
.reloc 0x0, 55, buffer
    MOV R1, RZ ;
    EXIT ;
.elf abi=0x33 abiversion=7 type=1 machine=190 version=0x80 flags=0x500550 names=1
.part ?
.part .shstrtab type=3 align=1
.strings "", ".shstrtab", ".strtab", ".symtab", "buffer"
.part .symtab type=2 link=1 entry=24
.symbol ?
.symbol buffer info=0x1d other=0x40 value=0x10
"""
    listing.write_text(text)
    assert main(["asm", str(listing), "--cubin", str(file)]) == 0
    read = read_cubin(file, bare=True, archs=("sm_80",))
    assert [r.type for r in read.relocations] == [69, 68, 55]
    (buffer,) = [s for s in read.symbols if s.name == "buffer"]
    assert buffer.is_undefined
    assert read.symbols[read.relocations[2].symbol] is buffer
    assert not read.relocations[0].symbol
    if not change:
        listing.write_text(text.replace(text[text.index(".kernel") : text.index(".elf")], ""))
        assert main(["asm", str(listing), "--cubin", str(file)]) == 0
    capsys.readouterr()
    assert main(["dis", "--directives", str(file)]) == 0
    listing.write_text(capsys.readouterr().out)
    assert main(["asm", str(listing), "--cubin", str(made)]) == 0
    assert made.read_bytes() == file.read_bytes()
    assert main(["dis", str(file)]) == 0
    assert capsys.readouterr().out.startswith("\n\tcode for sm_80\n")


def test_raw_words_and_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Raw words of 16 bytes, a cut word, an odd section."""
    raw = tmp_path / "words.bin"
    raw.write_bytes((0x000FC60000000F0000000007000A7202).to_bytes(16, "little") + bytes(16))
    assert main(["dis", "--raw", "--arch", "sm_80", str(raw)]) == 0
    out = capsys.readouterr().out
    assert "MOV R10, R7 ;" in out
    assert "// illegal: no instruction of sm_80 has this opcode" in out
    raw.write_bytes(bytes(24))
    assert main(["dis", "--raw", "--arch", "sm_80", str(raw)]) == 2
    assert "at offset 0x10: 24 bytes are not whole 16-byte words" in capsys.readouterr().err
    data = bytearray(cubin("sm_80").read_bytes())
    for cut in (20, 100, len(data) // 2, len(data) - 8):
        raw.write_bytes(data[:cut])
        assert main(["dis", str(raw)]) == 2
        assert capsys.readouterr().err.startswith("gpudbg: ")


_BLOCK = re.compile(r"block ([0-9a-f]{4})\.\.([0-9a-f]{4})")
_BRANCH = re.compile(r"BRA\b.* (0x[0-9a-f]+)$")


@pytest.mark.parametrize("arch", ARCHS)
def test_dis_shows_blocks_and_graph(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks cover the code in order, and begin where cuobjdump's listing has branches go."""
    file = str(cubin(arch))
    want: list[tuple[int, set[int]]] = []
    for row in cubin(arch).with_suffix(".txt").read_text().splitlines():
        pc, _, text = row.split(" ", 2)
        if pc == "0000":
            want.append((0, set()))
        want[-1] = (int(pc, 16), want[-1][1])
        if found := _BRANCH.search(text):
            want[-1][1].add(int(found[1], 16))
    assert main(["dis", file, "--json", "--blocks"]) == 0
    functions = json.loads(capsys.readouterr().out)
    for function, (last, targets) in zip(functions, want, strict=True):
        rows = function["blocks"]
        assert rows[0]["start"] == 0
        assert rows[-1]["last"] == last
        assert [r["start"] for r in rows[1:]] == [r["last"] + 16 for r in rows[:-1]]
        starts = {r["start"] for r in rows}
        assert targets
        assert targets <= starts
        assert {e["target"] for r in rows for e in r["edges"]} <= starts
    spans = [(r["start"], r["last"]) for f in functions for r in f["blocks"]]
    for flags in (["--blocks"], ["--cfg", "text"]):
        assert main(["dis", file, *flags]) == 0
        shown = _BLOCK.findall(capsys.readouterr().out)
        assert [(int(a, 16), int(b, 16)) for a, b in shown] == spans
    assert main(["dis", file, "--cfg", "dot"]) == 0
    out = capsys.readouterr().out
    assert out.count("digraph") == len(functions)
    assert "EXIT" in out


def test_a_linked_file_is_what_was_linked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a host file with linked code and the objects it is from, the linked code is listed."""

    def fatbin(payload: bytes, arch: int) -> str:
        words = (2, 0x101, 64, len(payload), 0, 0, 1, 7, arch, 0, 0, 0x11, 0, 0)
        body = struct.pack("<HHIQIIHHIIIQQQ", *words) + payload
        return (b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, len(body)) + body).hex()

    code = {n: fatbin(cubin(f"sm_{n}").read_bytes(), n) for n in (75, 80)}
    names = '"", ".shstrtab", ".nv_fatbin", "__nv_relfatbin"'
    for linked, want in (("75", ["sm_75"]), ("", ["sm_80"])):
        parts = [("__nv_relfatbin", 80), *([(".nv_fatbin", 75)] if linked else [])]
        lines = [".elf type=3 machine=62 version=1 names=1", ".part ?"]
        lines += [".part .shstrtab type=3 align=1", f".strings {names}"]
        for name, arch in parts:
            lines += [f".part {name} type=1 align=8", f".hex {code[arch]}"]
        made = tmp_path / "host.so"
        made.write_bytes(assemble_file("\n".join(lines)).frame.build({}))  # type: ignore[union-attr]
        assert main(["dis", str(made)]) == 0
        assert re.findall(r"^arch = (\w+)", capsys.readouterr().out, re.M) == want
