"""The README followed to the letter: its files written, its commands run, outputs compared."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from gpudbg.plugin import discover

README = Path(__file__).resolve().parents[2] / "plugins" / "README.md"
TEXT = README.read_text(encoding="utf-8")
RECIPE, REST = TEXT.split("## What a table can hold", 1)
#: A file of the recipe: its path in backquotes, a colon, then its block.
FILE = re.compile(r"`(morton/[\w.]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(block: str) -> list[tuple[list[str], str]]:
    """The commands of a console block with the output each shows."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    rows = [part.split("\n", 1) for part in parts]
    return [(shlex.split(command), output.rstrip("\n")) for command, output in rows]


def check(argv: list[str], shown: str) -> None:
    words = argv[1:]
    assert argv[0] == "gpudbg"
    paths = []
    while "--plugin" in words:
        at = words.index("--plugin")
        paths.append(words[at + 1])
        del words[at : at + 2]
    registry = discover(paths)
    assert registry.warnings == []
    assert words[0] == "decode"
    code, output = registry.run_decoder(words[1], words[2:])
    assert output == shown
    assert (code == 0) == (not shown.startswith("gpudbg decode"))


def test_the_recipe_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = FILE.findall(RECIPE)
    assert [name for name, _ in files] == ["morton/plugin.toml", "morton/zorder.py"]
    for name, content in files:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = CONSOLE.findall(RECIPE)
    rows = commands(block)
    assert len(rows) == 4
    for argv, shown in rows:
        check(argv, shown)


def test_the_recipe_as_a_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gpudbg.cli import main

    for name, content in FILE.findall(RECIPE):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = CONSOLE.findall(RECIPE)
    for argv, shown in commands(block):
        code = main(argv[1:])
        held = capsys.readouterr()
        assert (held.out + held.err).rstrip("\n") == shown
        assert code == (2 if shown.startswith("gpudbg decode") else 0)


def test_the_recipe_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILE.findall(RECIPE):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (tmp_path / "morton" / "__init__.py").write_text("")
    (group,) = re.findall(r'entry-points\."([\w.]+)"\]\n(.*?)```', RECIPE, re.DOTALL)
    dist = tmp_path / "morton-1.0.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: morton\nVersion: 1.0\n")
    entry = group[1].replace('"', "")
    (dist / "entry_points.txt").write_text(f"[{group[0]}]\n{entry}")
    monkeypatch.syspath_prepend(tmp_path)
    registry = discover()
    assert "morton" not in sys.modules
    assert registry.run_decoder("morton", ["3", "5"]) == (0, "(3, 5) is index 0x27")


def test_the_other_commands_of_the_readme() -> None:
    rows = [row for block in CONSOLE.findall(REST) for row in commands(block)]
    assert rows
    for argv, shown in rows:
        check(argv, shown)


def test_the_readme_names_every_kind() -> None:
    from gpudbg.plugin import KINDS

    for kind in KINDS:
        assert f"| `{kind}` |" in TEXT


def test_the_method_stream_of_the_readme_runs(tmp_path: Path) -> None:
    (block,) = re.findall(r"A method stream:\n\n```\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "methods.txt"
    path.write_text(block, encoding="utf-8")
    assert discover().cli_verbs["tesla"].load()(["run", str(path)]) == 0
