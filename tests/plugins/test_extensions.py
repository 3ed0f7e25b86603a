"""What a plugin adds works inside the debugger: commands, views, observers, file formats."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudbg import cli
from gpudbg.debug import extensions
from gpudbg.debug.registry import CommandTable
from gpudbg.debug.session import DebugSession
from gpudbg.errors import PluginError
from gpudbg.loading import foreign
from tests.launching import FIRST, open_with

ROOT = Path(__file__).resolve().parents[2]

DESCRIPTOR = """
name = "probe"
version = "0.1"
api = 1
summary = "counts things"

[commands.probe]
call = "probe:command"
help = "say where the focus is"

[commands.broken]
call = "probe:broken"
help = "fails"

[views.probe-view]
call = "probe:view"
help = "warps in one line"

[observers.probe-count]
call = "probe:Count"
help = "counts instructions"

[isa.toy]
call = "probe:Toy"
help = "two-byte words"

[formats.wrapped]
call = "probe:Wrapped"
help = "a cubin behind eight bytes"

[formats.odd]
call = "probe:Odd"
help = "gives nothing"

[observers.probe-plain]
call = "probe:Plain"
help = "has no base class"

[observers.probe-broken]
call = "probe:Broken"
help = "fails"

[cli.probe_verb]
call = "probe:verb"
help = "a verb"
"""

CODE = """
def command(session, args):
    return {"lines": [f"at {session.warp().pc:#x} {args}"], "data": {"pc": session.warp().pc}}

def broken(session, args):
    return 1 // 0

def view(snapshot, width):
    return [f"{len(snapshot.warps)} warps of {snapshot.kernel}"[:width]]

from gpudbg.sm.observer import Observer

class Count(Observer):
    def __init__(self):
        self.seen = 0
    def instruction(self, warp, pc, instruction, lanes):
        self.seen += 1
    def report(self):
        return {"seen": self.seen}

class Toy:
    def disassemble(self, data, address):
        for at in range(0, len(data) - 1, 2):
            yield address + at, 2, f"op{data[at]} {data[at + 1]}"

class Wrapped:
    def sniff(self, data):
        return data.startswith(b"WRAPPED!")
    def load(self, data, path):
        return data[8:]

class Odd:
    def sniff(self, data):
        return data.startswith(b"ODD")
    def load(self, data, path):
        return None

class Plain:
    def __init__(self):
        self.stores = 0
    def access(self, warp, space, kind, address, lanes, size):
        self.stores += kind == "store"
    def report(self):
        return {"stores": self.stores}

class Broken:
    def barrier(self, warp, arrival, released):
        return [][0]

def verb(argv):
    return {"ok": 0, "findings": 1}[argv[0]]
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "probe"
    folder.mkdir()
    (folder / "plugin.toml").write_text(DESCRIPTOR)
    (folder / "__init__.py").write_text("")
    (folder / "probe.py").write_text(textwrap.dedent(CODE))
    monkeypatch.setenv("GPUDBG_PLUGIN_PATH", str(folder))
    foreign.known_plugins.cache_clear()
    yield folder
    foreign.known_plugins.cache_clear()


@pytest.fixture
def session(plugin: Path) -> DebugSession:
    return open_with(FIRST)


def test_commands_answer_and_defects_name_the_plugin(session: DebugSession, plugin: Path) -> None:
    table: CommandTable[DebugSession] = CommandTable()
    extensions.add_commands(table)
    row, rest = table.resolve("probe 'two words'")
    out = session.dispatch(row, rest)
    assert out.lines == ("at 0x8 ['two words']",)
    assert out.data == {"pc": 8}
    row, rest = table.resolve("broken")
    with pytest.raises(PluginError, match="plugin 'probe' failed in broken"):
        session.dispatch(row, rest)


def test_view_and_observer(session: DebugSession) -> None:
    assert session.execute("view probe-view") == ["8 warps of block_max"]
    session.command("observe probe-count")
    stop = session.run()
    assert session.execute("observe probe-count off") == {"seen": stop.instructions}


def test_an_observer_is_a_plain_class(session: DebugSession) -> None:
    session.command("observe probe-plain")
    session.run()
    assert session.command("observe probe-plain off").lines == ("probe-plain is off", "stores: 35")


def test_a_hook_that_fails_names_the_plugin(session: DebugSession) -> None:
    session.command("observe probe-broken")
    with pytest.raises(PluginError, match="plugin 'probe' failed in probe-broken: IndexError"):
        session.run()


def test_a_verb(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [cli.main(["probe_verb", word]) for word in ("ok", "findings", "x")] == [0, 1, 4]
    assert "plugin 'probe' failed in probe_verb: KeyError: 'x'" in capsys.readouterr().err


def test_a_format_that_gives_nothing_names_the_plugin(
    plugin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.odd"
    path.write_bytes(b"ODD")
    assert cli.main(["info", str(path)]) == 4
    assert "plugin 'probe': odd gave NoneType" in capsys.readouterr().err


def test_file_format(plugin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrapped.bin"
    path.write_bytes(b"WRAPPED!" + FIRST.read_bytes())
    assert cli.main(["info", str(path)]) == 0
    assert "block_max" in capsys.readouterr().out


def test_plugin_flag_anywhere(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUDBG_PLUGIN_PATH", "")
    foreign.known_plugins.cache_clear()
    assert cli.main(["--plugin", str(plugin), "--batch", "-ex", "view probe-view", str(FIRST)]) == 0
    assert "8 warps of block_max" in capsys.readouterr().out
    assert cli.main(["info", str(FIRST), "--plugin"]) == 2


def test_instruction_set(plugin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "toy.bin"
    path.write_bytes(bytes([1, 2, 3, 4]))
    assert cli.main(["dis", "--isa", "toy", str(path)]) == 0
    assert "op1 2" in capsys.readouterr().out
    assert cli.main(["dis", "--isa", "toy", "--range", "2:", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == [{"offset": 2, "bytes": "0304", "text": "op3 4"}]
    assert cli.main(["dis", "--isa", "nope", str(path)]) == 2
    assert "toy" in capsys.readouterr().err
