"""The cache of compiled code: bounded, shared, moved, switched off, seen and cleared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudbg import cli
from gpudbg.sm.engines.llvm import cache

MB = 1 << 20
BODY = b"x" * (MB // 4 - 32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of a megabyte."""
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "code"))
    monkeypatch.setenv(cache.SIZE, "1")
    monkeypatch.delenv(cache.NO_CACHE, raising=False)
    found = cache.folder()
    assert found is not None
    return found


def _aged(path: Path, hours: float) -> Path:
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))
    return path


def test_the_tests_have_their_own() -> None:
    """And processes that they begin."""
    from platformdirs import user_cache_path

    assert cache.folder() not in (None, user_cache_path("gpudbg") / "code")
    line = "from gpudbg.sm.engines.llvm import cache; print(cache.folder())"
    run = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(cache.folder())


def test_bounded(folder: Path) -> None:
    """What was used longest ago goes; reading is using."""
    for n in range(4):
        cache.write(folder / f"{n}.o", BODY)
        _aged(folder / f"{n}.o", 10 - n)
    assert cache.read(folder / "0.o") == BODY
    cache.write(folder / "4.o", BODY)
    assert cache.contents().nbytes <= 0.75 * MB
    assert sorted(p.name for p in folder.iterdir()) == ["0.o", "3.o", "4.o"]


def test_the_bound_holds_for_many(folder: Path) -> None:
    """However many are written, and whatever others leave there."""
    (folder / "notes.txt").write_bytes(b"n" * MB)
    dead = _aged(_file(folder / "killed.new"), 2)
    for n in range(30):
        cache.write(folder / f"{n}.o", BODY[: 1000 * (n + 1)])
        assert cache.contents().nbytes <= MB
    assert not dead.exists()
    assert (folder / "notes.txt").exists()
    cache.write(folder / "huge.o", b"x" * MB)
    assert not (folder / "huge.o").exists()


def _file(path: Path) -> Path:
    path.write_bytes(b"x")
    return path


def test_files_that_vanish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process clears the cache at the same time."""
    for n in range(4):
        cache.write(folder / f"{n}.o", BODY)
    rows = list(cache._files(folder))
    for _, _, path in rows:
        path.unlink()
    monkeypatch.setattr(cache, "_files", lambda where: iter(rows))
    cache.trim(folder, 100)
    cache.clear()
    assert cache.read(folder / "0.o") is None


@pytest.mark.parametrize(
    ("name", "value"), [(cache.FOLDER, "off"), (cache.FOLDER, "0"), (cache.NO_CACHE, "1")]
)
def test_without(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(name, value)
    assert cache.folder() is None
    assert cli.main(["cache"]) == 0
    assert "nothing is kept" in capsys.readouterr().out


def test_the_verb(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen, as text and as JSON, and cleared; looking makes no folder."""
    cache.write(folder / "1.o", BODY)
    (folder / "other").write_bytes(b"mine")
    assert cli.main(["cache"]) == 0
    said = capsys.readouterr().out
    assert said == f"{folder}: 1 file, 0.2 MB of 1 MB at most\n"
    assert cli.main(["cache", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {
        "folder": str(folder), "files": 1, "bytes": MB // 4, "limit": MB, "cleared": False,
    }  # fmt: skip
    assert cli.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"{folder}: 1 file, 0.2 MB removed\n"
    assert [p.name for p in folder.iterdir()] == ["other"]
    (folder / "other").unlink()
    folder.rmdir()
    assert cli.main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 0
    assert not folder.exists()


def test_a_limit_that_is_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cache.SIZE, "lots")
    assert cli.main(["cache"]) == 2
    assert capsys.readouterr().err.startswith("gpudbg: GPUDBG_CACHE_MB is 'lots' (a number")
