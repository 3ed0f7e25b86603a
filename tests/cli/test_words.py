"""Words of the command line: topics of info, near names, plugin verbs, cuda-gdb's name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudbg.cli import main
from tests.launching import FIRST

ROOT = Path(__file__).resolve().parents[2]

TOY = """
class Isa:
    def disassemble(self, data, address):
        for at in range(0, len(data), 2):
            yield address + at, SIZE, f"op {data[at]}"

def shout(argv):
    print("TOY", *argv)

def broken(session, words):
    return {}["nothing"]

def decoder(words, as_json):
    raise ValueError("no such word")

def view(snapshot, width):
    raise KeyError("view")
"""
DESCRIPTOR = """
api = 1
name = "toy"
version = "1"

[isa.toyset]
call = "code:Isa"

[cli.shout]
call = "code:shout"

[commands.broken]
call = "code:broken"

[decoders.toyword]
call = "code:decoder"

[views.toyview]
call = "code:view"
"""


def run(*words: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main([str(w) for w in words])
    out, err = capsys.readouterr()
    return code, out, err


def fresh(*words: object) -> tuple[int, str, str]:
    """A process of its own: plugins are looked for once in each."""
    line = [sys.executable, "-m", "gpudbg", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def toy(folder: Path, size: str = "2") -> Path:
    """A plugin folder; its isa's instructions say their size as `size`."""
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").write_text("")
    (folder / "toy" / "code.py").write_text(TOY.replace("SIZE", size))
    (folder / "toy" / "plugin.toml").write_text(DESCRIPTOR)
    return folder / "toy"


def test_topics_need_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    for topic, word in (("policy", "barrier"), ("engine", "--engine step"), ("special", "SR_Tid")):
        code, out, err = run("info", topic, capsys=capsys)
        assert (code, err) == (0, "")
        assert word in out
        _, out, _ = run("info", topic, "--json", capsys=capsys)
        assert json.loads(out)
    _, out, _ = run("info", "special", "SR_TID.X", capsys=capsys)
    assert "[10:0]" in out
    for words in (("policy", "nonsense"), ("special", "SR_NOPE")):
        assert run("info", *words, capsys=capsys)[0] == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rnu", "x.cubin"], "did you mean run?"),
        (["inof"], "did you mean info?"),
        (["run", str(FIRST), "--gird", "3"], "did you mean --grid?"),
        (["run", str(FIRST), "--kernel", "blok_max"], "did you mean 'block_max'?"),
        (["--batch", "-ex", "set timline on", str(FIRST)], "did you mean timeline?"),
        (["--batch", "-ex", "show listsiz", str(FIRST)], "did you mean listsize"),
        (["--batch", "-ex", "brek x", str(FIRST)], "did you mean break"),
    ],
)
def test_near_names(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(*words, capsys=capsys)
    assert code == 2
    assert expected in err


@pytest.mark.full(instead="test_errors_inside_a_plugin_name_it_and_the_line")
def test_nsight_starts_a_file_called_cuda_gdb(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("info", "nsight", capsys=capsys)
    path = Path(out.strip())
    assert (code, path.name) == (0, "cuda-gdb")
    assert str(path.parent) not in os.environ["PATH"].split(os.pathsep)
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert told.startswith("GNU gdb (GDB)")
    done = subprocess.run(
        [path, "--interpreter=mi2", "-nx"],
        input="-gdb-version\n-gdb-exit\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith('=thread-group-added,id="i1"')


def test_a_folder_does_not_hide_a_plugins_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = toy(tmp_path)
    (tmp_path / "shout").mkdir()
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("--plugin", plugin, "shout", "a", "b", capsys=capsys)
    assert (code, out) == (0, "TOY a b\n")


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", ["2", "data[at:at + 2]"])
def test_an_isa_of_a_plugin_disassembles(size: str, tmp_path: Path) -> None:
    plugin, code_file = toy(tmp_path, size), tmp_path / "words.bin"
    code_file.write_bytes(bytes([1, 2, 3, 4]))
    code, out, err = fresh("--plugin", plugin, "dis", "--isa", "toyset", code_file)
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["0:", "0102", "op", "1"],
        ["2:", "0304", "op", "3"],
    ]


def test_errors_inside_a_plugin_name_it_and_the_line(
    tmp_path: Path,
) -> None:
    plugin = toy(tmp_path, "None")
    (tmp_path / "words.bin").write_bytes(bytes(4))
    lines = TOY.splitlines()

    def at(text: str) -> str:
        return f"{plugin / 'code.py'}:{next(n for n, t in enumerate(lines, 1) if text in t)}"

    _, _, err = fresh("--plugin", plugin, "--batch", "-ex", "broken", FIRST)
    assert "plugin 'toy'" in err
    assert at('{}["nothing"]') in err
    _, out, err = fresh("--plugin", plugin, "decode", "toyword", "1")
    assert "plugin 'toy'" in out + err
    assert at("no such word") in out + err
    code, _, err = fresh("--plugin", plugin, "dis", "--isa", "toyset", tmp_path / "words.bin")
    assert (code, "plugin 'toy'" in err) == (4, True)
    (plugin / "code.py").write_text("x = 1\nsyntax error here\n")
    _, _, err = fresh("--plugin", plugin, "plugins", "--check")
    assert "plugin 'toy' does not load" in err
    assert f"{plugin / 'code.py'}:2" in err
