"""Every marked block of the README runs and prints what the README shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.doc_blocks import Player, printed
from tests.doc_blocks import blocks as python_blocks

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"<!-- run: (?P<name>\w+) -->\n```(?P<kind>\w+)\n(?P<body>.*?)```", re.DOTALL)


def blocks(kind: str) -> list[tuple[str, str]]:
    return [(m["name"], m["body"]) for m in BLOCK.finditer(README) if m["kind"] == kind]


def test_there_are_blocks_to_run() -> None:
    assert blocks("console")
    assert blocks("python")


def test_console_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other: a prompt that one block opens, the next ones use."""
    monkeypatch.chdir(ROOT)
    player = Player()
    for name, body in blocks("console"):
        assert player.play(body) == body, name


@pytest.mark.parametrize(("code", "shown"), python_blocks(README))
def test_python_block(code: str, shown: str) -> None:
    assert printed(code, "README.md") == shown


def test_every_command_it_shows_is_run() -> None:
    """A block with a prompt in it is a block that is run."""
    marked = {m.start("body") for m in BLOCK.finditer(README)}
    fences = re.finditer(r"^```(?:console|python)\n", README, re.MULTILINE)
    assert {m.end() for m in fences} == marked


def test_programs_of_commands_that_are_not_run_exist() -> None:
    lines = re.findall(r"^    (?:\$ )?(gpudbg .*)$", README, re.MULTILINE)
    assert lines
    for line in lines:
        for word in line.split():
            if word.endswith(".cubin"):
                assert (ROOT / word).is_file(), line


def test_it_is_short() -> None:
    """What takes longer to say stands in the site."""
    assert len(README.splitlines()) < 250


def test_pictures_and_files_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for path in re.findall(r"`((?:sessions|plugins|gpudbg)/[\w./]+)`", README):
        assert os.path.exists(ROOT / path), path
