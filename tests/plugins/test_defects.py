"""Whatever a plugin, a display, a condition or a callback raises, the front end lives on."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudbg.cli import main
from gpudbg.debug.commands.table import TABLE
from gpudbg.debug.registry import Command
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError, InternalError, PluginError
from gpudbg.frontends.console.console import Console
from gpudbg.frontends.repl.shell import Shell
from gpudbg.loading import foreign
from tests.launching import FIRST, open_with
from tests.mi.client import KERNELS, Client

ENTRIES = {
    "leaves": "raises SystemExit",
    "fails": "raises KeyError",
    "unprintable": "an answer that cannot be printed",
    "endless_rows": "rows that fail on their way",
}

CODE = """
import sys

class Unprintable:
    def __str__(self):
        raise ValueError("no words")
    __repr__ = __str__

def leaves(session, args):
    sys.exit("done")

def fails(session, args):
    return {}["missing"]

def unprintable(session, args):
    return [Unprintable()]

def endless_rows(session, args):
    return {"lines": (1 / n for n in (1, 0)), "data": None}

def view(snapshot, width):
    yield "first"
    yield 1 / 0

def verb(argv):
    sys.stdout.write("verb\\\\n")
    return {"leave": 0}[argv[0]]
"""


@pytest.fixture
def broken_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A plugin whose commands fail, each in its own way."""
    folder = tmp_path / "brittle"
    folder.mkdir()
    table = 'name = "brittle"\nversion = "1"\nsummary = "fails"\n'
    for name, words in ENTRIES.items():
        table += f'[commands.{name}]\ncall = "code:{name}"\nhelp = "{words}"\n'
    table += '[views.brittle]\ncall = "code:view"\nhelp = "fails in its second line"\n'
    (folder / "plugin.toml").write_text(table)
    (folder / "code.py").write_text(textwrap.dedent(CODE))
    monkeypatch.setenv("GPUDBG_PLUGIN_PATH", str(folder))
    foreign.known_plugins.cache_clear()
    yield folder
    foreign.known_plugins.cache_clear()


def _raise(error: BaseException) -> Any:
    raise error


def test_a_plugins_commands_never_end_a_client(broken_plugin: Path) -> None:
    with Client("-q", "--interpreter=mi3", str(KERNELS / "walk.cubin")) as client:
        for name in ENTRIES:
            assert client.fails(f'-interpreter-exec console "{name}"').startswith(
                "plugin 'brittle'"
            )
        assert "ZeroDivisionError" in client.fails('-interpreter-exec console "view brittle"')
        client.ok("-thread-info")


def test_a_plugins_view_names_it_to_its_end(broken_plugin: Path) -> None:
    session = open_with(FIRST)
    with pytest.raises(PluginError, match="plugin 'brittle' failed in brittle: ZeroDivisionError"):
        session.command("view brittle")


@pytest.fixture
def planted() -> Iterator[None]:
    """Commands that have a defect: one when it is carried out, one when it is printed."""

    class Late:
        def lines(self) -> list[str]:
            return [str(1 // 0)]

    def rows(session: DebugSession, argument: str) -> Any:
        from gpudbg.answers import Card

        return Card(Late(), Late.lines)

    before = list(TABLE.commands), dict(TABLE._exact)
    for name, handler in (("defect", lambda s, a: [][0]), ("late-defect", rows)):
        TABLE.add(Command((name,), name, "planted", "support", "nothing", handler))
    yield
    TABLE.commands[:], TABLE._exact = before


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("name", ["defect", "late-defect"])
def test_a_defect_is_an_error_of_its_command(name: str) -> None:
    session = open_with(FIRST)
    with pytest.raises((InternalError, CommandError), match=r"(Index|ZeroDivision)Error"):
        session.command(name).text  # noqa: B018
    out, err = io.StringIO(), io.StringIO()
    console = Console(session, out, err)
    assert not console.execute(name)
    assert console.execute("print 6*7")
    assert "42" in out.getvalue()
    shell = Shell(session, out, err)
    assert not shell.push(name)
    assert "Error" in err.getvalue()


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), RecursionError(), OSError(28, "")])
def test_a_display_says_what_it_cannot_show(error: Exception) -> None:
    session = open_with(FIRST)
    session.displays.add("output 1")
    session.displays.add("output 2")
    real = session.displays._answer
    session.displays._answer = lambda s, line: _raise(error) if "1" in line else real(s, line)
    first, second = session.displays.lines()
    assert first.startswith("1: 1 = <error: ")
    assert second == "2: 2 = 2"


def test_a_condition_that_fails_in_python_is_a_stop_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = open_with(FIRST)
    session.break_at(session.warp().pc + 0x40, condition="$R0 == 12345")
    monkeypatch.setattr(
        "gpudbg.debug.breakpoints.setting.evaluate", lambda *_: _raise(OverflowError("too long"))
    )
    monkeypatch.setattr(type(session.breakpoints), "native_condition", lambda *_: None)
    stop = session.cont()
    assert stop.kind == "breakpoint"
    assert any("OverflowError: too long" in line for line in stop.detail)


def test_a_callback_of_ones_own_is_named_by_its_place(tmp_path: Path) -> None:
    session = open_with(FIRST)
    names: dict[str, Any] = {}
    file = tmp_path / "mine.py"
    exec(compile("def back(session, stop):\n    return 1 // 0\n", str(file), "exec"), names)
    session.break_at(session.warp().pc + 0x40, callback=names["back"])
    with pytest.raises(CommandError, match=r"ZeroDivisionError: .* at .*mine\.py:2"):
        session.command("continue")


BROKEN = {
    "verbs": (
        '[cli.strange]\ncall = "m:strange"\n[cli.my-verb]\ncall = "m:mine"\n'
        '[cli.parsed]\ncall = "m:parsed"\n',
        "import sys\n"
        "def strange(argv): return {}['x']\n"
        "def mine(argv): print('mine', *argv)\n"
        "def parsed(argv): sys.exit(3)\n",
    ),
    "constructor": (
        '[formats.fb]\ncall = "m:B"\n[isa.ib]\ncall = "m:B"\n[isa.id]\ncall = "m:D"\n',
        "class B:\n    def __init__(self): raise OSError('init')\n"
        "class D:\n    def disassemble(self, data, at): yield at, -5, 'backwards'\n",
    ),
    "decoders": (
        '[decoders.da]\ncall = "m:f"\n[decoders.db]\ncall = "m:g"\n',
        "from gpudbg.plugin import Decoded\n"
        "def f(argv, json): raise SystemExit(3)\n"
        "def g(argv, json): return Decoded(object(), [1, 2])\n",
    ),
}


@pytest.mark.parametrize(
    ("name", "line", "code", "says"),
    [
        ("verbs", "strange", 4, "plugin 'verbs' failed in strange: KeyError: 'x' at "),
        ("verbs", "my-verb a", 0, "mine a"),
        ("verbs", "parsed", 3, ""),
        ("constructor", "info FILE", 4, "plugin 'constructor' failed in fb: OSError: init at "),
        ("constructor", "dis --isa ib FILE", 4, "plugin 'constructor' failed in ib: OSError"),
        ("constructor", "dis --isa id FILE", 4, "plugin 'constructor' failed in id: ValueError"),
        ("decoders", "decode da", 4, "plugin 'decoders' failed: SystemExit: 3 at "),
        ("decoders", "decode db", 4, "plugin 'decoders' failed: TypeError"),
        ("decoders", "decode db --json", 4, "plugin 'decoders' failed: TypeError"),
    ],
)
def test_what_a_plugin_does_wrong_on_the_command_line_names_it(
    name: str, line: str, code: int, says: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    table, source = BROKEN[name]
    folder = tmp_path / name
    folder.mkdir()
    (folder / "plugin.toml").write_text(f'name = "{name}"\nversion = "1"\nsummary = "x"\n{table}')
    (folder / "m.py").write_text(source)
    (tmp_path / "my-verb").mkdir()
    (tmp_path / "unknown.bin").write_bytes(b"ZZ" + bytes(62))
    monkeypatch.chdir(tmp_path)
    foreign.known_plugins.cache_clear()
    words = [w.replace("FILE", "unknown.bin") for w in line.split()]
    assert main(["--plugin", str(folder), *words]) == code
    said = capsys.readouterr()
    assert says in said.out + said.err
    assert len((said.out + said.err).splitlines()) <= 1
    foreign.known_plugins.cache_clear()
