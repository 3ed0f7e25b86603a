"""The assembler of .sass files: listings back to code, labels, directives, errors."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpudbg
from gpudbg.analysis.hazards import check_code
from gpudbg.assembler import SassProgram, assemble_file
from gpudbg.assembler.patch import patch_cubin
from gpudbg.cli import main
from gpudbg.formats.cubin import read_cubin
from gpudbg.isa.control import Control
from gpudbg.isa.spa5.sched import instructions, pack
from tests import kernel_cases

DATA = Path(__file__).resolve().parent.parent / "data"
LISTED = [
    *(p for p in (DATA / "bench" / "cubin").glob("*.cubin") if ".sm_80" not in p.name),
    *(DATA / "kernels" / "cubin" / "sm_53").glob("half*.cubin"),
    *(DATA / "kernels" / "cubin" / "sm_50").glob("t*.cubin"),
    *(DATA / "kernels" / "cubin" / "sm_50").glob("b*.cubin"),
    *(DATA / "kernels" / "cubin" / "sm_50").glob("f*.cubin"),
    *(DATA / "kernels" / "cubin" / "sm_50-G").glob("sax*.cubin"),
    *(DATA / "ptxconf" / "cubin").rglob("v*.cubin"),
    *(DATA / "ptxconf" / "cubin").rglob("d*.cubin"),
]

SAXPY = """\
.arch sm_52
.kernel saxpy               // y = a * x + y
.param x 8
.param y 8
.param n 4
.param a 4
    MOV R1, c[0x0][0x20]
    S2R R0, SR_CTAID.X ;
    S2R R2, SR_TID.X ;
    XMAD R0, R0, c[0x0][0x8], R2    /* blockDim.x */
    ISETP.GE.AND P0, PT, R0, c[0x0][n], PT
    @P0 BRA done
    SHL R2, R0, 0x2 ; SHR.U32 R3, R0, 0x1e
    IADD R4.CC, R2, c[0x0][x]
    IADD.X R5, R3, c[0x0][x+4]
    IADD R6.CC, R2, c[0x0][y]
    IADD.X R7, R3, c[0x0][y + 0x4]
    LDG.E R8, [R4]
    LDG.E R9, [R6]
    FFMA R8, R8, c[0x0][a], R9
    STG.E [R6], R8
done:
    EXIT
"""


def listing(path: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What `gpudbg dis` prints."""
    assert main(["dis", str(path), *flags]) == 0
    return capsys.readouterr().out


def dual_free(program: SassProgram) -> None:
    """No hazards anywhere."""
    for function in program.functions:
        assert check_code(function.code(), program.arch, function.name) == []


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("path", LISTED, ids=lambda p: str(p.relative_to(DATA)))
def test_listing_round_trip(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = listing(path, capsys)
    (tmp_path / "in.sass").write_text(text)
    assert main(["asm", str(tmp_path / "in.sass"), "--cubin", str(tmp_path / "out.cubin")]) == 0
    assert listing(tmp_path / "out.cubin", capsys) == text
    fields = listing(path, capsys, "--control", "fields", "--no-bytes")
    again = assemble_file(fields)
    given_by_words = assemble_file(text)
    for a, b in zip(again.functions, given_by_words.functions, strict=True):
        assert (a.words, a.groups) == (b.words, b.groups)
    bare = assemble_file(listing(path, capsys, "--control", "none", "--no-bytes"))
    for a, b in zip(bare.functions, given_by_words.functions, strict=True):
        assert a.words == b.words
    dual_free(bare)


@pytest.mark.full(instead="test_listing_round_trip")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", ["saxpy", "barriers", "atomics_shared", "func_ptr", "switch_tree"])
@pytest.mark.parametrize("control", ["hex", "none"])
def test_reassembled_kernels_run(
    name: str, control: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [c for c in kernel_cases.cases("sm_50", names=[name]) if c.error is None]
    text = listing(found[0].cubin, capsys, "--control", control)
    (tmp_path / "in.sass").write_text(text)
    out = tmp_path / "out.cubin"
    line = ["asm", str(tmp_path / "in.sass"), "--cubin", str(out), "--from", str(found[0].cubin)]
    assert main(line) == 0
    for case in found:
        assert not kernel_cases.check(case, kernel_cases.run(case, lambda _: gpudbg.load(str(out))))


@pytest.mark.in_turn(take="barriers constant_mem")
@pytest.mark.parametrize(
    "name", ["func_ptr", "constant_mem", "atomics_global", "jump_table", "double_ops", "barriers"]
)
def test_directives_make_the_same_program(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dis --directives` holds all that a run needs."""
    found = [c for c in kernel_cases.cases("sm_50", names=[name]) if c.error is None]
    program = assemble_file(listing(found[0].cubin, capsys, "--directives"))
    out = tmp_path / "out.cubin"
    out.write_bytes(program.cubin())
    for case in found:
        assert not kernel_cases.check(case, kernel_cases.run(case, lambda _: gpudbg.load(str(out))))
    old, new = read_cubin(found[0].cubin), read_cubin(out)
    for kernel in old.kernels.values():
        made = new.kernels[kernel.name]
        for what in ("num_regs", "num_barriers", "params", "shared_static_bytes", "exit_offsets"):
            assert getattr(made, what) == getattr(kernel, what)
    assert {g.name: g.offset for g in old.globals.values()} == {
        g.name: g.offset for g in new.globals.values()
    }


def test_functions_of_the_loader_survive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel that prints still prints after `dis --directives` and `asm --cubin`."""
    old = Path(__file__).resolve().parents[1] / "mi" / "kernels" / "walk.cubin"
    program = assemble_file(listing(old, capsys, "--directives"))
    new = tmp_path / "walk.cubin"
    new.write_bytes(program.cubin())
    assert read_cubin(new).kernels["walk"].externs == ("vprintf",)
    printed = []
    for path in (old, new):
        args = [np.arange(64, dtype=np.int32), np.zeros(64, np.int32), np.int32(64)]
        session = gpudbg.load(str(path)).launch("walk", grid=1, block=64, args=args)
        session.run()
        printed.append(session.output.text)
    assert printed[0] == printed[1] != ""


def test_calls_and_addresses_are_relocated() -> None:
    text = """
.section .nv.global.init
.zero 4
table: .word 5, helper, table + 4
.kernel k
JCAL `(helper)
MOV32I R2, 32@lo(table)
MOV32I R3, 32@hi(table)
EXIT
.func helper
RET
"""
    program = assemble_file(text)
    rows = [(r.offset, r.type, r.symbol) for r in program.functions[0].relocations]
    assert rows == [(8, 42, "helper"), (0x10, 43, "table"), (0x18, 44, "table")]
    cubin = read_cubin(program.cubin())
    assert list(cubin.kernels) == ["k"]
    assert (cubin.globals["table"].offset, cubin.globals["table"].size) == (4, 12)
    assert cubin.sections[".nv.global.init"].data == struct.pack("<5I", 0, 5, 0, 4, 0)[:16]
    kinds = sorted((r.section, r.offset, r.type) for r in cubin.relocations)
    assert kinds == [
        (".nv.global.init", 8, 1), (".nv.global.init", 12, 1),
        (".text.k", 8, 42), (".text.k", 16, 43), (".text.k", 24, 44),
    ]  # fmt: skip
    with pytest.raises(gpudbg.AssembleError, match="no symbol nothing"):
        assemble_file(".kernel k\nMOV32I R2, 32@lo(nothing)")


def test_debug_build_with_calls_round_trips(capsys: pytest.CaptureFixture[str]) -> None:
    path = DATA / "kernels" / "cubin" / "sm_50-G" / "recursion.cubin"
    old, new = (
        read_cubin(path),
        read_cubin(assemble_file(listing(path, capsys, "--directives")).cubin()),
    )
    assert set(old.code_sections) == set(new.code_sections)
    assert list(old.kernels) == list(new.kernels)
    assert sorted((r.section, r.offset, r.type) for r in old.relocations) == sorted(
        (r.section, r.offset, r.type) for r in new.relocations
    )


def run_saxpy(program: gpudbg.LoadedProgram) -> None:
    x, y = np.arange(50, dtype=np.float32), np.ones(50, np.float32)
    args = [x, y, np.int32(50), np.float32(3)]
    session = program.launch("saxpy", grid=2, block=32, args=args)
    check = session.check("hazards")
    assert session.run().kind == "exited"
    assert check.findings == ()
    assert np.array_equal(session.buffer(1), 3 * x + y)


def test_written_by_hand_runs(tmp_path: Path) -> None:
    program = assemble_file(SAXPY, "saxpy.sass")
    (function,) = program.functions
    assert (program.arch, function.registers, function.barriers) == ("sm_52", 10, 0)
    assert [(p.name, p.offset, p.size) for p in function.params] == [
        ("x", 0, 8), ("y", 8, 8), ("n", 16, 4), ("a", 20, 4),
    ]  # fmt: skip
    dual_free(program)
    run_saxpy(gpudbg.load(program.cubin()))
    assert read_cubin(program.cubin()).kernels["saxpy"].exit_offsets == (function.labels["done"],)


def test_raw_words_and_launch_table(tmp_path: Path) -> None:
    (tmp_path / "saxpy.sass").write_text(SAXPY)
    out = tmp_path / "saxpy.bin"
    assert main(["asm", str(tmp_path / "saxpy.sass"), "-o", str(out), "--toml", "--check"]) == 0
    assert out.read_bytes() == assemble_file(SAXPY).functions[0].code()
    from gpudbg.formats.files import read_program
    from gpudbg.formats.launch_toml import read_launch

    kernel = read_program(out, launch=read_launch(tmp_path / "saxpy.toml")).kernels["saxpy"]
    assert (kernel.num_regs, [p.offset for p in kernel.params]) == (10, [0, 8, 16, 20])


def test_control_notation_and_comments() -> None:
    text = """
        /* 0x001f8800fc2007e1 */
        /*0008*/ MOV R0, R1.reuse ;   /* 0x1234567812345678 */
        [B0-2---:R3:W1:Y:S04] LDG.E R2, [R4] ;  // brackets, no reuse part
        EXIT ; B------:R-:W-:-:S15:---- /* after
        several lines */
    """
    (f,) = assemble_file(text).functions
    controls = [Control.decode(g) for g in f.groups]
    assert controls[0] == Control(1, True, reuse=2)
    assert controls[1] == Control(4, True, 1, 3, wait=0b101)
    assert controls[2].stall == 15
    assert f.lines == (3, 4, 5)


def test_dual_issue_of_a_listing_with_words_on_their_own_lines() -> None:
    text = """
                                      /* 0x001fc400fe0007f0 */
        /*0008*/ {  MOV R0, R1 ;      /* 0x5c98078000170000 */
        /*0010*/    S2R R2, SR_TID.X  }
.L_1:
                                      /* 0xf0c8000002170002 */
        /*0018*/    BRA `(.L_1)       (*"BRANCH_TARGETS .L_1"*) ;
    """
    (f,) = assemble_file(text).functions
    assert f.groups == tuple(0x001FC400FE0007F0 >> 21 * n & 0x1FFFFF for n in range(3))
    assert f.labels == {".L_1": 0x18}
    assert gpudbg.decode(f.words[2], pc=0x18).text == "BRA 0x18"


def test_labels_and_moved_targets() -> None:
    (f,) = assemble_file("L1: NOP\nBRA L1\n@P0 BRA `(.L_2)\n.L_2:\nEXIT").functions
    assert gpudbg.decode(f.words[1], pc=0x10).text == "BRA 0x8"
    assert gpudbg.decode(f.words[2], pc=0x18).text == "@P0 BRA 0x28"
    moved = "/*0008*/ NOP ;\n NOP ;\n /*0010*/ SSY 0x20 ;\n/*0018*/ BRA 0x18 ;\n/*0028*/ EXIT ;"
    (f,) = assemble_file(moved).functions
    assert gpudbg.decode(f.words[2], pc=0x18).text == "SSY 0x30"
    assert gpudbg.decode(f.words[3], pc=0x28).text == "BRA 0x28"


def test_directives_follow_moved_instructions() -> None:
    text = """
.kernel k
.targets 0x10, 0x28
.reloc 0x8, 43, k
        NOP ;
/*0008*/ MOV32I R0, 0x0 ;
/*0010*/ BRX R2 -0x20 ;
/*0018*/ NOP ;
/*0028*/ EXIT ;
"""
    (f,) = assemble_file(text).functions
    assert f.targets == {0x18: (0x30,)}
    assert [(r.offset, r.type) for r in f.relocations] == [(0x10, 43)]
    (branch,) = read_cubin(assemble_file(text).cubin()).kernels["k"].indirect_branches
    assert (branch.offset, branch.targets) == (0x18, (0x30,))


def test_constants_names_and_banks() -> None:
    text = """
.const 3
.word 1, 0x2, -1
.kernel k
.equ HALF, 0x10
.shared 64
.local 16
.barriers 3
.const 2
.dword 0x1122334455667788
.byte 1, 2
.zero 2
.text
MOV R0, c[0x2][HALF-8]
LDS R1, [R2+HALF]
BAR.SYNC 0x2
EXIT
"""
    program = assemble_file(text)
    cubin = read_cubin(program.cubin())
    kernel = cubin.kernels["k"]
    assert (kernel.shared_static_bytes, kernel.local_bytes, kernel.num_barriers) == (64, 16, 3)
    assert cubin.sections[".nv.constant2.k"].data == struct.pack(
        "<QBBH", 0x1122334455667788, 1, 2, 0
    )
    assert cubin.sections[".nv.constant3"].data == struct.pack("<IIi", 1, 2, -1)
    assert gpudbg.decode(kernel_word(cubin, 0), pc=8).text == "MOV R0, c[0x2][0x8]"


def kernel_word(cubin: object, index: int) -> int:
    """A word of the only kernel."""
    (kernel,) = cubin.kernels.values()  # type: ignore[attr-defined]
    return list(instructions(kernel.code))[index][1]


def test_patch_with_other_size(tmp_path: Path) -> None:
    path = DATA / "bench" / "cubin" / "saxpy.sm_50.cubin"
    words = "\n".join(
        f".word {w:#x}" for _, w, _ in instructions(read_cubin(path).kernels["saxpy"].code)
    )
    longer = assemble_file(f".kernel saxpy\nNOP\nNOP\nNOP\n{words}")
    program = read_cubin(patch_cubin(path.read_bytes(), longer, "saxpy"))
    assert program.kernels["saxpy"].code == longer.functions[0].code()
    with pytest.raises(gpudbg.UsageError, match="has no function k"):
        patch_cubin(path.read_bytes(), assemble_file(".kernel k\nEXIT"), "saxpy")
    with pytest.raises(gpudbg.UsageError, match="is not for sm_61"):
        patch_cubin(path.read_bytes(), assemble_file("EXIT", arch="sm_61"), "saxpy")


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("NOP\nIADD R0, R1, Q2", 2, 14, "register"),
        ("  FROB R1", 1, 3, "mnemonic"),
        ("BRA `(nowhere)", 1, 5, "label"),
        ("BRA nowhere", 1, 5, "label"),
        ("@!P0 BRA CC.LE, nowhere", 1, 17, "label"),
        ("BRA CC.QQ 0x8", 1, 5, ""),
        (".extern 1x\nNOP", 1, 9, "name"),
        ("/* never ends", 1, None, "'*/'"),
        ("NOP\n[B------:R9:W-:-:S01] NOP", 2, 1, "Bwaits"),
        (".arch sm_99\nNOP", 1, 7, "sm_50"),
        (".registers 300\nNOP", 1, 12, "1 to 255"),
        (".frobnicate 1\nNOP", 1, 1, ".kernel"),
        (".kernel a\nNOP\n.kernel a\nNOP", 3, 9, "another name"),
        ("x: NOP\nx: NOP", 2, 1, ""),
        (".byte 1\nNOP", 1, 7, ".const"),
        (".param p\nNOP", 1, 8, "NAME SIZE"),
        ("// nothing", 1, None, "an instruction"),
        (".equ N, 4\nIADD R0, R1, N, R2", 2, 15, "end of instruction"),
    ],
)
def test_errors(text: str, line: int, column: int | None, expected: str) -> None:
    with pytest.raises(gpudbg.AssembleError) as caught:
        assemble_file(text, "x.sass")
    error = caught.value
    assert (error.path, error.line, error.column) == ("x.sass", line, column)
    assert expected in (error.expected or "")
    assert str(error).startswith(f"x.sass:{line}")


def test_verb_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.sass"
    for content, flags in (
        (b"EXIT", []),
        (b"\xff\xfe", ["--check"]),
        (b"EXIT R1", ["--check"]),
        (b".kernel a\nEXIT\n.kernel b\nEXIT", ["-o", str(tmp_path / "o.bin")]),
        (b"EXIT", ["-o", str(tmp_path / "no" / "o.bin")]),
        (b"EXIT", ["--cubin", str(tmp_path / "o"), "--from", str(tmp_path / "none")]),
    ):
        path.write_bytes(content)
        assert main(["asm", str(path), *flags]) == 2
        captured = capsys.readouterr().err
        assert captured.startswith("gpudbg: ")
        assert captured.count("\n") == 1
    assert main(["asm", str(tmp_path / "missing"), "--check"]) == 2


def test_help_has_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["asm", "--help"])
    assert ".param SIZE" in capsys.readouterr().out


LINES = st.sampled_from(
    [
        "NOP", "EXIT ;", "{ MOV R0, R1 ;", "S2R R0, SR_TID.X }", "L1:", "@P0 BRA L1", "BRA 0x20",
        "LDG.E.64 R2, [R4+0x10]", "STG.E [R4], R2", "ISETP.LT.AND P0, PT, R2, R3, PT",
        "DADD R4, R2, R4",
        "SYNC", "SSY L1", "MUFU.RCP R2, R2", "FADD R2, R2, R4", "STS.64 [R0], R2", "BAR.SYNC 0x0",
        "SHFL.IDX PT, R2, R2, RZ, 0x1f", "TEXS.LZ R0, R2, R2, 0x50, 2D, RGBA", "IADD.X R3, R2, R2",
        "IADD R2.CC, R3, R4", "BRK", "PBK L1", "DSETP.LT.AND P1, PT, R2, R4, PT",
        "@!P1 DMUL R2, R2, R2",
        "DEPBAR {0,1} ;", ".shared 8", "/* 0x001f8800fc2007e1 */", ".const 2", ".word 5", ".text",
    ]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(LINES, max_size=30))
def test_scheduled_code_has_no_hazards(lines: list[str]) -> None:
    """Whatever the program: the default scheduler's control words are clean."""
    plain = [x for x in lines if not x.startswith(("/*", ".", "{", "L1")) and "}" not in x]
    text = "\n".join(["L1:", *plain, "S2R R0, SR_TID.X ;", "EXIT"])
    dual_free(assemble_file(text.replace("DEPBAR {0,1} ;", "DEPBAR {0,1}")))


@settings(max_examples=300)
@given(st.lists(st.one_of(LINES, st.text(max_size=30)), max_size=12))
def test_any_text_gives_words_or_an_error(lines: list[str]) -> None:
    try:
        program = assemble_file("\n".join(lines))
    except gpudbg.AssembleError:
        return
    assert read_cubin(program.cubin()).kernels


def test_padding_is_whole_bundles() -> None:
    (f,) = assemble_file("EXIT").functions
    assert len(f.code()) == 32
    assert pack(*f.groups) >> 63 == 0
