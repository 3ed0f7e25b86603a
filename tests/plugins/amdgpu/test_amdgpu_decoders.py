"""`gpudbg decode hwreg` and `gpudbg decode wave`: options, text, JSON, exit codes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudbg.cli import main
from gpudbg.errors import CommandError, UsageError
from gpudbg.plugin import Registry

Decode = Callable[..., tuple[int, Any]]


def text(registry: Registry, *argv: str) -> tuple[int, str]:
    return registry.run_decoder(argv[0], list(argv[1:]))


def test_operand(decode: Decode) -> None:
    code, data = decode("hwreg", "hwreg(HW_REG_LDS_ALLOC, 12, 9)")
    assert code == 0
    assert data["simm16"] == "0x4306"
    assert data["hwreg"] == {"id": 6, "offset": 12, "size": 9}
    assert data["disasm"] == "hwreg(HW_REG_LDS_ALLOC, 12, 9)"
    assert [row["name"] for row in data["register"]["fields"]] == ["LDS_SIZE"]


def test_operand_as_number_and_unquoted_words(decode: Decode) -> None:
    assert decode("hwreg", "0x1881")[1]["disasm"] == "hwreg(HW_REG_MODE, 2, 4)"
    assert decode("hwreg", "hwreg(1,", "2,", "4)")[1]["simm16"] == "0x1881"
    words = decode("hwreg", "s_getreg_b32", "s2,", "hwreg(1, 2, 4)")[1]
    assert words["words"] == ["0xb9021881"]


def test_mcpu_chooses_names(decode: Decode) -> None:
    assert decode("hwreg", "hwreg(4)")[1]["disasm"] == "hwreg(4)"
    assert decode("hwreg", "--mcpu", "gfx900", "hwreg(4)")[1]["disasm"] == "hwreg(HW_REG_HW_ID)"
    assert decode("hwreg", "--mcpu=gfx1200", "4")[1]["disasm"] == "hwreg(HW_REG_STATE_PRIV, 0, 1)"


def test_value_tells_fields(decode: Decode) -> None:
    code, data = decode("hwreg", "--value", "0x2f0", "hwreg(HW_REG_MODE, 4, 4)")
    assert code == 0
    assert data["effect"]["result"] == 15
    (field,) = data["register"]["fields"]
    assert field["meaning"] == "32-bit: keep; 64/16-bit: keep"
    assert (field["value"], field["certainty"]) == (15, "documented")


def test_part_of_a_field(decode: Decode) -> None:
    (field,) = decode("hwreg", "--value", "0x20", "hwreg(HW_REG_MODE, 5, 1)")[1]["register"][
        "fields"
    ]
    assert field["covered"] == {"high": 5, "low": 5}
    assert (field["value"], field["meaning"]) == (1, "")


def test_effect_of_a_source(decode: Decode) -> None:
    source = (
        "s_getreg_b32 s4, hwreg(HW_REG_MODE, 4, 4)\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0\n"
        "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s4\n"
    )
    code, data = decode("hwreg", "--regs", "MODE=0x2f0", source)
    assert code == 0
    effects = [row["effect"] for row in data["instructions"]]
    assert effects[0]["result"] == 15
    assert [(e["before"], e["after"]) for e in effects[1:]] == [(0x2F0, 0x200), (0x200, 0x2F0)]
    assert effects[1]["changes"] == [
        {"name": "FP_DENORM", "before": 15, "after": 0,
         "meaning": "32-bit: flush sources and result; 64/16-bit: flush sources and result"}
    ]  # fmt: skip


def test_state_file(decode: Decode, tmp_path: Path) -> None:
    file = tmp_path / "wave.txt"
    file.write_text("STATUS = 0\ns1 = 1\n")
    argv = ("--state", str(file), "s_setreg_b32 hwreg(HW_REG_STATUS, 13, 1), s1")
    assert decode("hwreg", *argv)[1]["effect"]["after"] == 0
    assert decode("hwreg", "--privileged", *argv)[1]["effect"]["after"] == 0x2000


def test_words_and_bytes(decode: Decode) -> None:
    code, data = decode("hwreg", "--word", "0xba801901", "0xf")
    assert (code, data["disasm"]) == (0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15")
    assert data["sets"][0]["meaning"] == "32-bit: keep; 64/16-bit: keep"
    code, data = decode("hwreg", "--mcpu", "gfx900", "--bytes", "811802b9")
    assert (code, data["disasm"]) == (0, "s_setreg_b32 hwreg(HW_REG_MODE, 2, 4), s2")


def test_list(decode: Decode, registry: Registry) -> None:
    code, data = decode("hwreg", "--list", "--mcpu", "gfx1200")
    assert code == 0
    assert {row["title"] for row in data["registers"]} >= {"STATE_PRIV", "TRAP_CTRL", "IB_STS2"}
    code, lines = text(registry, "hwreg", "--list")
    assert code == 0
    assert "IB_STS2 (by number only)" in lines


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (("hwreg(64)",), "1:7: error: invalid hardware register: only 6-bit values are legal"),
        (("0xb9021881",), "only 16-bit values are legal (an instruction word? use --word)"),
        (("-1",), "1:1: error: invalid immediate: only 16-bit values are legal"),
        (("HW_REG_MODE",), "1:1: error: expected a hwreg macro, structured immediate or an "
         "absolute expression"),
        (("v_add_f32 v0, v1, v2",), "1:1: error: invalid instruction (read here: s_getreg_b32"),
        ((), "an operand or an instruction is needed"),
        (("a = 1",), "no instruction in the text"),
        (("--mcpu", "gfx1", "1"), "'gfx1' is not a recognized processor"),
        (("--word",), "no instruction word"),
        (("--word", "0xbf800000"), "0xbf800000 is none of s_getreg_b32"),
        (("--word", "zz"), "'zz' is not a number"),
        (("--bytes", "xy"), "is not hexadecimal bytes"),
        (("--bytes", "8118"), "2 bytes are not whole 32-bit words"),
        (("--regs", "MODE", "hwreg(1)"), "line 1: 'MODE' is not NAME = VALUE"),
        (("--regs", "STATUS=1", "hwreg(1)"), "no value is known for HW_REG_MODE"),
        (("--state", "/nonexistent", "hwreg(1)"), "/nonexistent: No such file"),
    ],
)  # fmt: skip
def test_errors(registry: Registry, argv: tuple[str, ...], error: str) -> None:
    code, message = text(registry, "hwreg", *argv)
    assert code == 2
    assert error in message
    assert "\n" not in message


def test_wave(decode: Decode, tmp_path: Path, registry: Registry) -> None:
    file = tmp_path / "wave.txt"
    file.write_text("mcpu = gfx1100\nTRAPSTS = 0x800\nSTATUS = 0x2060\n")
    code, data = decode("wave", str(file))
    assert code == 0
    assert data["headline"] == "illegal instruction"
    assert data["causes"][0]["evidence"] == "TRAPSTS.ILLEGAL_INST"
    assert data["registers"]["HW_REG_TRAPSTS"]["value"] == 0x800
    code, lines = text(registry, "wave", "TRAPSTS=0x800", "STATUS=0x2060")
    assert code == 0
    assert lines.splitlines()[0] == "gfx1010 (gfx10.1): illegal instruction"


def test_wave_from_standard_input(decode: Decode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("TRAPSTS = 0x100\n"))
    assert decode("wave", "-")[1]["headline"] == "memory violation"


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        ((), "1 more argument"),
        (("a", "b"), "give one file"),
        (("/nonexistent",), "No such file"),
        (("FOO=1",), "gfx1010 has no register 'FOO'"),
        (("mcpu=gfx900",), "no register value in the text"),
    ],
)
def test_wave_errors(registry: Registry, argv: tuple[str, ...], error: str) -> None:
    code, message = text(registry, "wave", *argv)
    assert code == 2
    assert error in message


def test_wave_of_bytes_that_are_no_text(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "wave.bin"
    file.write_bytes(b"\xff\xfe\x00")
    code, message = text(registry, "wave", str(file))
    assert code == 2
    assert "not UTF-8" in message


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "hwreg", "--mcpu", "gfx1010", "s_getreg_b32 s2, hwreg(64)"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "1:24: error: invalid hardware register: only 6-bit values are legal" in captured.err
    assert main(["decode", "hwreg", "--json", "0x1881"]) == 0
    assert '"simm16": "0x1881"' in capsys.readouterr().out


def test_everything_the_descriptor_names_loads(registry: Registry) -> None:
    for kind, name in (
        ("decoders", "hwreg"), ("decoders", "wave"), ("register_files", "amdgpu"),
        ("commands", "amdgpu"), ("views", "amdgpu-wave"), ("panes", "amdgpu"),
    ):  # fmt: skip
        entry = registry.find(kind, name)
        assert entry.plugin == "amdgpu"
        assert callable(entry.load())


def test_console_command(registry: Registry) -> None:
    command = registry.find("commands", "amdgpu").load()
    found = command(None, ["hwreg", "hwreg(1,", "2,", "4)"])
    assert found["data"]["simm16"] == "0x1881"
    assert found["lines"][0].startswith("hwreg(HW_REG_MODE, 2, 4) = 0x1881")
    with pytest.raises(CommandError, match="needs what to decode"):
        command(None, ["foo"])


def test_register_file(registry: Registry) -> None:
    file = registry.find("register_files", "amdgpu").load()(mcpu="gfx900")
    file.write("HW_REG_MODE", 0x2F0)
    assert file.read("MODE") == 0x2F0
    assert "TRAPSTS" in file.names()
    with pytest.raises(UsageError):
        file.read("HW_REG_FOO")


def test_view_fits_its_width(registry: Registry) -> None:
    registry.import_module("amdgpu", "dump")
    from gpudbg_plugins.amdgpu.dump import parse_dump

    view = registry.find("views", "amdgpu-wave").load()
    dump = parse_dump("STATUS = 0x42060\nTRAPSTS = 0x905\nMODE = 0xff2f0", "gfx900")
    for width in (0, 20, 33, 80, 200):
        lines = view(dump, width)
        assert max(len(line) for line in lines) <= max(width, 20)
        assert lines[0].startswith("gfx900 (gfx9):")


async def test_pane(registry: Registry) -> None:
    from textual.app import App, ComposeResult
    from textual.widgets import Static, TextArea

    pane = registry.find("panes", "amdgpu").load()

    class Alone(App[None]):
        def compose(self) -> ComposeResult:
            yield pane()

    app = Alone()
    async with app.run_test(size=(80, 30)) as pilot:
        text = app.query_one(TextArea)
        shown, error = (app.query_one(f"#amdgpu-{name}", Static) for name in ("wave", "error"))
        text.text = "TRAPSTS = 0x800"
        await pilot.pause()
        assert "illegal instruction" in str(shown.content)
        text.text = "TRAPSTS = nonsense"
        await pilot.pause()
        assert "'nonsense' is not a number" in str(error.content)
        assert "illegal instruction" in str(shown.content)
