"""The manual in the terminal, and completions as shells carry them out."""

from __future__ import annotations

import shutil
import subprocess

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


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not here")
def test_fish() -> None:
    script = SHELLS["fish"]() + '\ncomplete -C"gpudbg run --gr"; complete -C"gpudbg rec"'
    assert [line.split("\t")[0] for line in _said("fish", script)] == ["--grid", "record"]
