"""gdb's abbreviations reach the commands gdb means by them; ambiguous ones list candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudbg.debug.commands.families import load
from gpudbg.errors import CommandError
from tests.narrowing import there
from tests.variants import rows

GDB = {
    "run": "r", "start": "sta", "continue": "c fg cont", "stepi": "si", "step": "s", "nexti": "ni",
    "next": "n", "until": "u unt", "finish": "fin", "kill": "k", "break": "b br brea",
    "tbreak": "tb tbr", "delete": "d del", "disable": "dis", "enable": "en", "condition": "cond",
    "ignore": "ign", "print": "p pr inspect", "x": "x", "display": "disp", "undisplay": "undisp",
    "disassemble": "disas", "list": "l", "frame": "f", "backtrace": "bt where", "help": "h",
    "apropos": "apr", "quit": "q", "set": "set", "show": "sho", "thread": "t",
}  # fmt: skip
INFO = {
    "info breakpoints": "b br", "info registers": "r reg all-registers", "info warps": "w warp",
    "info lanes": "la", "info kernels": "k", "info sms": "sms", "info blocks": "bl",
    "info threads": "th", "info line": "li", "info stack": "s", "info frame": "f",
    "info display": "disp",
}  # fmt: skip


@rows("name", GDB)
def test_commands(name: str) -> None:
    for word in GDB[name].split():
        assert load().resolve(word)[0].name == name


@pytest.mark.parametrize("name", INFO)
def test_info(name: str) -> None:
    for word in INFO[name].split():
        for group in ("i", "inf", "info"):
            assert load().resolve(f"{group} {word}")[0].name == name


@pytest.mark.parametrize("word", ["co", "un", "ste", "info t"])
def test_ambiguous(word: str) -> None:
    with pytest.raises(CommandError, match="ambiguous") as caught:
        load().resolve(word)
    assert there(caught.value.hint).count(",") >= 1


def test_every_command_takes_any_argument_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    import gpudbg
    from gpudbg.errors import GpudbgError

    first = Path(__file__).resolve().parents[2] / "sessions/first_steps/first_steps.cubin"
    program = gpudbg.load(first)
    arguments = [np.arange(64, dtype=np.int32), np.zeros(1, np.int32), np.int32(60)]
    session = program.launch("block_max", grid=1, block=64, args=arguments)
    # `save launch zzz` writes a file, as it was asked to.
    monkeypatch.chdir(tmp_path)
    refused: list[str] = []
    leaving = {"quit", "run", "continue", "start", "kill", "until", "finish", "echo"}
    for row in load().commands:
        session.command(f"help {row.name}")
        if row.name in leaving:
            continue
        for text in ("zzz", "-1", "9" * 20, "/q", "((((", "\"'", "é", "0x", "a b c d"):
            try:
                session.command(f"{row.name} {text}")
            except GpudbgError as error:
                refused.append(str(error))
    assert len(refused) > 100
    assert [words for words in refused if "\n" in words or "internal error" in words] == []
