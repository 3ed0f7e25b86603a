"""The manual in the terminal, and completions as shells carry them out."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from gpudbg import cli
from gpudbg.manual.completion import SHELLS
from gpudbg.manual.pages import pages

TRY = """
try() { COMP_WORDS=(gpudbg "$@"); COMP_CWORD=$#; COMPREPLY=(); _gpudbg 2>/dev/null
        echo "${COMPREPLY[@]}"; }
try rec; try run --gr; try run x.cubin --engine ""; try demo spin_lock_; try x.cubin --gr
"""


def test_every_topic_opens(capsys: pytest.CaptureFixture[str]) -> None:
    for name in pages():
        assert cli.main(["help", name]) == 0
        assert capsys.readouterr().out.startswith("#"), name


@pytest.mark.parametrize(
    ("word", "near"),
    [("polices", "policies"), ("infowarps", "info warps"), ("NOTHING", "note"), ("§", "")],
)
def test_a_topic_that_is_not_there(
    word: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["help", word]) == 2
    said = capsys.readouterr().err
    assert "did you mean " in said
    assert near in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("topic", ["who-wrote", "MMU_FAULT", "run", "gather", "DebugSession"])
def test_entries_of_the_reference(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["help", topic]) == 0
    assert topic in capsys.readouterr().out.splitlines()[0]


def _said(shell: str, script: str) -> list[str]:
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_bash() -> None:
    found = _said("bash", SHELLS["bash"]() + TRY)
    assert found == ["record", "--grid", "auto step run", "spin_lock_ends", "--grid"]


@pytest.mark.full(instead="test_bash")
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not here")
def test_zsh(tmp_path: Path) -> None:
    """Typed at a terminal: Tab completes, and a key of the test's own writes the line down."""
    (tmp_path / "gpudbg.zsh").write_text(SHELLS["zsh"](), encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])
    os.write(terminal, ZSH.format(folder=tmp_path).encode())
    _until(terminal, b"ready-now")
    for typed in ("gpudbg run --gr", "gpudbg rec", "gpudbg run x --engine st", "gpudbg demo unti"):
        os.write(terminal, f"{typed}\t\x14".encode())
    os.write(terminal, b"exit\n")
    _until(terminal, None)
    os.waitpid(child, 0)
    os.close(terminal)
    lines = (tmp_path / "lines").read_text(encoding="utf-8").splitlines()
    assert [line.split()[-1] for line in lines] == ["--grid", "record", "step", "until_volta"]


ZSH = (
    "PS1= ; autoload -Uz compinit && compinit -u -d {folder}/dump; source {folder}/gpudbg.zsh; "
    "note() {{ print -r -- $BUFFER >> {folder}/lines; BUFFER= }}; zle -N note; bindkey '^T' note; "
    "echo ready-$(echo now)\n"
)


def _until(terminal: int, wanted: bytes | None) -> None:
    """Read what a terminal shows until it has shown something; None: until it closes."""
    seen = b""
    while wanted is None or wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, seen
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # Its last process has ended.
            assert wanted is None, seen
            return


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not here")
def test_fish() -> None:
    script = SHELLS["fish"]() + '\ncomplete -C"gpudbg run --gr"; complete -C"gpudbg rec"'
    assert [line.split("\t")[0] for line in _said("fish", script)] == ["--grid", "record"]
