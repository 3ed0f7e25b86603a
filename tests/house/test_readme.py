"""Every marked block of the README runs and prints what the README shows."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from pathlib import Path

import pytest

from gpudbg import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"<!-- run: (?P<name>\w+) -->\n```(?P<kind>\w+)\n(?P<body>.*?)```", re.DOTALL)


def blocks(kind: str) -> list[tuple[str, str]]:
    return [(m["name"], m["body"]) for m in BLOCK.finditer(README) if m["kind"] == kind]


def test_there_are_blocks_to_run() -> None:
    assert blocks("console")
    assert blocks("python")


@pytest.mark.parametrize("body", [pytest.param(b, id=n) for n, b in blocks("console")])
def test_console_block(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            words = shlex.split(line[2:])
            assert words[0] == "gpudbg"
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                cli.main(words[1:])
            shown += [line, *out.getvalue().splitlines()]
    assert shown == body.splitlines()


@pytest.mark.parametrize("body", [pytest.param(b, id=n) for n, b in blocks("python")])
def test_python_block(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(body, "README.md", "exec"), {})


def test_pictures_and_files_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for path in re.findall(r"`((?:sessions|plugins|gpudbg)/[\w./]+)`", README):
        assert os.path.exists(ROOT / path), path
