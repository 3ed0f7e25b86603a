"""gdb's commands over memory, functions and warps, and random files of commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from tests.launching import FIRST
from tests.scripts.fuzz_files import files, trouble
from tests.scripts.record_gdb import MEMORY, shown


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DebugSession:
    monkeypatch.chdir(tmp_path)
    return gpudbg.open(str(FIRST))


def test_breakpoints_are_saved_and_restored(session: DebugSession) -> None:
    session.command(
        "break block_max+0x178 if threadIdx.x == 3\ncommands\nsilent\nif 1\necho met\\n\nend\n"
        "end\nignore 1 2\ntbreak block_max+0x28\nbreak 12\ndisable 3\nsave breakpoints kept.gdb"
    )
    before = [row.to_json() for row in session.breakpoints]
    session.command("delete\nsource kept.gdb")
    after = [row.to_json() for row in session.breakpoints]
    for old, new in zip(before, after, strict=True):
        assert {**old, "number": 0} == {**new, "number": 0}


def test_memory_to_files_and_back(session: DebugSession) -> None:
    session.command("dump binary memory a.bin in in+4")
    session.command("append value a.bin in[0]")
    assert len(Path("a.bin").read_bytes()) == 20
    session.command("restore a.bin binary in+8")
    assert session.execute("print in[9]")["value"] == session.execute("print in[1]")["value"]
    for line in ("dump memory x.bin in+4 in", "dump value x.bin zork", "restore no.bin binary out"):
        with pytest.raises(CommandError):
            session.command(line)
    assert not Path("x.bin").exists()


def test_find(session: DebugSession) -> None:
    first, second = (session.execute(f"print in[{i}]")["value"] for i in (4, 5))
    found = session.execute(f"find in, +1000, {first}, {second}")
    assert session.execute("print &in[4]")["value"] in found
    assert session.execute("print $numfound")["value"] == len(found)
    with pytest.raises(CommandError, match="too small"):
        session.command("find in, +2, 5")


def test_threads_and_frames(session: DebugSession) -> None:
    focus = session.focus
    data = session.execute("thread apply 1-2 print $warp")
    assert [row["data"]["value"] for row in data] == [0, 1]
    assert session.focus == focus
    assert "Unknown thread 99" in session.command("thread apply 99 print 1").text
    assert "block_max" in session.command("frame function block_max").text
    assert "No locals." in session.command("bt full 1").text
    with pytest.raises(CommandError, match="from the kernel itself"):
        session.command("return")
    assert session.execute("rbreak ^block") == [1]
    assert session.execute("info scope block_max") == ["in", "out", "n"]
    assert len(session.command("x/20i block_max").lines) == 20


def test_random_files(session: DebugSession, tmp_path: Path) -> None:
    for text in files(20261123, 40):
        assert trouble(session, tmp_path / "f.gdb", text) == "", text[:200]


def test_memory_is_found_shown_and_written_as_by_gdb(tmp_path: Path) -> None:
    """The same bytes in a process, as `record_gdb` recorded gdb's answers, and in a kernel."""
    program = gpudbg.load(MEMORY / "table.cubin")
    session = program.launch(args=[np.zeros(1, np.int32)])
    session.command("set addresses code")
    lines = (MEMORY / "memory.gdb").read_text().replace("DIR", str(tmp_path)).splitlines()
    answers = [session.command(line).text.rstrip("\n") for line in lines]
    assert shown(answers, tmp_path) == (MEMORY / "memory.out").read_text()


def test_what_find_lacks() -> None:
    session = gpudbg.load(MEMORY / "table.cubin").launch(args=[np.zeros(1, np.int32)])
    with pytest.raises(CommandError, match="Missing search pattern"):
        session.command("find /b &table[0], +64")
    with pytest.raises(CommandError, match="Missing search parameters"):
        session.command("find &table[0]")
