"""Cubins of sm_70 and later from text: listings back to the same file, kernels written by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.analysis.hazards import check_code
from gpudbg.assembler import SassProgram, assemble_file
from gpudbg.cli import main
from gpudbg.code_layout import layout_of
from gpudbg.formats.cubin import read_cubin
from gpudbg.isa.control import Control
from gpudbg.isa.family import decode
from gpudbg.isa.volta import CONTROL_MASK
from gpudbg.isa.volta import WideControl as WordControl
from tests.isa.volta.test_files import ARCHS, cubin

DATA = Path(__file__).parents[1] / "data" / "kernels" / "cubin"
OTHERS = ("sm_80/recursion", "sm_90/warp_redux", "sm_120/jump_table", "sm_50-G/recursion")
"""Calls within a section, async instructions, tables of addresses, a debug build."""
FILES = [*map(cubin, ARCHS), *(DATA / f"{name}.cubin" for name in OTHERS)]
FILL = """\
.arch ARCH
.kernel fill
.param out 8
.param n 4
S2R R0, SR_TID.X
ISETP.GE.AND P0, PT, R0, c[0x0][n], PT
@P0 EXIT
IMAD.WIDE.U32 R2, R0, 0x4, RZ
IADD3 R2, P1, R2, c[0x0][out], RZ
IADD3.X R3, R3, c[0x0][out+4], RZ, P1, !PT
ST.E [R2.64], R0
EXIT
stay: BRA stay
"""


def listing(path: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What `gpudbg dis --directives` prints."""
    assert main(["dis", str(path), "--directives", *flags]) == 0
    return capsys.readouterr().out


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem + p.parent.name)
@pytest.mark.parametrize("flags", [(), ("--control", "fields", "--no-bytes")], ids=["hex", "text"])
def test_a_listing_assembles_to_the_identical_file(
    path: Path, flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Byte for byte, with the words in comments and from text, notation and notes alone."""
    source, out = tmp_path / "in.sass", tmp_path / "out.cubin"
    source.write_text(listing(path, capsys, *flags))
    assert main(["asm", str(source), "--cubin", str(out)]) == 0
    assert out.read_bytes() == path.read_bytes()


def test_a_changed_listing_is_laid_out_anew(capsys: pytest.CaptureFixture[str]) -> None:
    """An instruction more: branches follow it, the kernel keeps its resources."""
    text = listing(cubin("sm_80"), capsys)
    first = re.search(r".*/\*0000\*/.*\n.*\n", text)
    assert first is not None
    more = text.replace(first[0], "NOP [B------:R-:W-:-:S01]\n" + first[0], 1)
    old, new = assemble_file(text), assemble_file(more)
    made = read_cubin(new.cubin(), "new", bare=True, archs=("sm_80",))
    was = read_cubin(cubin("sm_80"), bare=True, archs=("sm_80",))
    name = old.functions[0].name
    assert len(made.sections[f".text.{name}"].data) == len(was.sections[f".text.{name}"].data) + 16
    assert made.kernels[name].params == was.kernels[name].params
    assert made.kernels[name].num_regs == was.kernels[name].num_regs
    assert targets(new, 0) == [t + 16 for t in targets(old, 0)]


def targets(program: SassProgram, number: int) -> list[int]:
    """Where the direct branches of a function go."""
    function = program.functions[number]
    places = layout_of(program.arch).offsets(len(function.code()))
    rows = ((at, decode(w, program.arch)) for at, w in zip(places, function.words, strict=True))
    found = (insn.target(at) for at, insn in rows if insn.op in ("BRA", "BSSY"))
    return [t for t in found if t is not None]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86"])
def test_written_by_hand_runs(arch: str) -> None:
    """Scheduled without hazards, runs, names its parameters."""
    store = "ST.E.SYS [R2]" if arch == "sm_75" else "ST.E [R2.64]"
    text = FILL.replace("ARCH", arch).replace("ST.E [R2.64]", store)
    program = assemble_file(text, "fill.sass")
    (function,) = program.functions
    assert check_code(function.code(), arch, "fill") == []
    session = gpudbg.assemble_program(text, name="fill.sass").launch(
        "fill", args=[np.zeros(32, np.int32), 5]
    )
    assert [a.name for a in session.launch.arguments] == ["out", "n"]
    assert session.run().check().kind == "exited"
    assert session.buffer("out")[:7].tolist() == [0, 1, 2, 3, 4, 0, 0]


def test_a_cuobjdump_listing_gives_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Scheduling bits and what the text hides come from the words behind it."""
    assert main(["dis", str(cubin("sm_80"))]) == 0
    text = capsys.readouterr().out
    program = read_cubin(cubin("sm_80"), bare=True, archs=("sm_80",))
    for function in assemble_file(text).functions:
        assert function.code() == program.sections[f".text.{function.name}"].data
    other = text.replace("S2R R0, SR_TID.X", "S2R R7, SR_TID.Y")
    assert other != text
    changed = assemble_file(other)
    pairs = zip(assemble_file(text).functions, changed.functions, strict=True)
    for before, after in pairs:
        assert before.groups == after.groups


# ---- hazards ---------------------------------------------------------------------------
def broken(program: SassProgram, what: str) -> tuple[int, int]:
    """(changed instructions, of which the check finds a hazard) with one field taken away."""
    (function, *_) = program.functions
    tried = found = 0
    for n, word in enumerate(function.words):
        control = Control.decode(WordControl.of(word).encode())
        other = {
            "wait": Control(control.stall, control.yield_, control.write_barrier,
                            control.read_barrier, 0, control.reuse),
            "barrier": Control(control.stall, control.yield_, None, control.read_barrier,
                               control.wait, control.reuse),
            "stall": Control(1, control.yield_, control.write_barrier, control.read_barrier,
                             control.wait, control.reuse),
        }[what]  # fmt: skip
        if other == control or (what == "stall" and control.stall < 12):
            continue
        words = list(function.words)
        words[n] = word & ~CONTROL_MASK | WordControl.decode(other.encode()).bits
        code = b"".join(w.to_bytes(16, "little") for w in words)
        tried += 1
        found += bool(check_code(code, program.arch))
    return tried, found


@pytest.mark.parametrize("what", ["wait", "barrier", "stall"])
def test_a_missing_wait_barrier_or_stall_is_found(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of what ptxas writes, nearly nothing can be taken away without a finding."""
    program = assemble_file(listing(DATA / "sm_90/saxpy.cubin", capsys))
    assert check_code(program.functions[0].code(), "sm_90") == []
    tried, found = broken(program, what)
    assert tried >= 1
    assert found >= 0.8 * tried
