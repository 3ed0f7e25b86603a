"""Discovery, its three costs, broken plugins, name clashes, arguments, layers."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg import cli, plugin
from gpudbg.errors import PluginError, UsageError
from gpudbg.plugin import (
    KINDS,
    PATH_VARIABLE,
    Option,
    Registry,
    discover,
    one_of,
    parse_arguments,
    parse_int,
    text,
    unsigned,
)

ROOT = Path(__file__).resolve().parents[2]
GREET = """\
from gpudbg.plugin import Arguments, Decoded, decoder

@decoder(usage="WORD", words=(1, 1))
def greet(args: Arguments) -> Decoded:
    return Decoded({"hello": args.words[0]}, ["hello " + args.words[0]])

def crash(argv, json):
    raise KeyError("inside")

def wrong(argv, json):
    return {"not": "Decoded"}
"""


def make(root: Path, name: str, entries: str, code: str = GREET, head: str = "") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    head = head or f'name = "{name}"\nversion = "2.1"\nsummary = "for a test"\n'
    (folder / "plugin.toml").write_text(head + entries)
    (folder / "code.py").write_text(code)
    return folder


def decoder_row(name: str, call: str) -> str:
    return f'[decoders.{name}]\ncall = "{call}"\nhelp = "help of {name}"\n'


def info(registry: Registry, name: str) -> dict[str, object]:
    return registry.infos[name].to_json()


def test_a_folder_plugin(tmp_path: Path) -> None:
    registry = discover([make(tmp_path, "greeter", decoder_row("greet", "code:greet"))])
    assert info(registry, "greeter") == {
        "name": "greeter", "version": "2.1", "source": "path", "summary": "for a test",
        "location": str(tmp_path / "greeter"), "adds": {"decoders": ["greet"]},
        "state": "listed", "warning": None,
    }  # fmt: skip
    assert registry.run_decoder("greet", ["you"]) == (0, "hello you")
    assert json.loads(registry.run_decoder("greet", ["you"], True)[1]) == {"hello": "you"}
    assert json.loads(registry.run_decoder("greet", ["you", "--json"])[1]) == {"hello": "you"}
    assert info(registry, "greeter")["state"] == "loaded"
    help_text = registry.run_decoder("greet", ["--help"])[1]
    assert help_text == "usage: gpudbg decode greet [--json] WORD\nhelp of greet"


def test_a_folder_of_plugins_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        make(tmp_path / "many", name, decoder_row(f"d{name}", "code:greet"))
    single = make(tmp_path, "three", decoder_row("dthree", "code:greet"))
    monkeypatch.setenv(PATH_VARIABLE, f"{tmp_path / 'many'}{os.pathsep}{single}")
    registry = discover()
    assert {"one", "two", "three"} <= set(registry.infos)
    assert registry.warnings == []


def test_every_kind_loads(tmp_path: Path) -> None:
    rows = "".join(f'[{kind}.x{kind}]\ncall = "code:greet"\n' for kind in KINDS)
    registry = discover([make(tmp_path, "everything", rows)])
    assert registry.load_all() == []
    for kind in KINDS:
        assert getattr(registry, kind)[f"x{kind}"].load() is not None
    assert registry.cli_verbs is registry.entries["cli"]


def test_listing_imports_nothing(tmp_path: Path) -> None:
    make(tmp_path, "bomb", decoder_row("bomb", "code:greet"), code="raise SystemExit(9)\n")
    script = (
        "import sys\n"
        "from gpudbg.plugin import discover\n"
        "registry = discover([sys.argv[1]])\n"
        "names = [m for m in sys.modules if m.startswith('gpudbg_plugins')]\n"
        "heavy = {'numpy', 'textual', 'rich', 'construct'} & set(sys.modules)\n"
        "others = [m for m in sys.modules if m.startswith('gpudbg.')\n"
        "          and m.split('.')[1] not in ('plugin', 'errors', 'bits', 'doors', 'dataclass')]\n"
        "print(names, heavy, others, 'bomb' in registry.infos, 'tesla' in registry.infos)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.strip() == "[] set() [] True True"


def test_bundled_plugins_of_an_installed_wheel(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "gpudbg" / "plugin", tmp_path / "gpudbg" / "plugin",
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    for name in ("errors.py", "bits.py", "dataclass.py"):
        shutil.copy(ROOT / "gpudbg" / name, tmp_path / "gpudbg" / name)
    (tmp_path / "gpudbg" / "__init__.py").write_text("")
    shutil.copytree(
        ROOT / "plugins", tmp_path / "gpudbg" / "_plugins",
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    script = (
        "from gpudbg.plugin import discover\n"
        "print(discover().run_decoder('physid', ['0x00410b05']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert "TP 4, MP 1, warp 11, lane 5" in done.stdout


BROKEN = [
    ("not toml", "[decoders", "not TOML"),
    ("no name", 'version = "1"\n', "'name' must be an identifier"),
    ("bad name", 'name = "a-b/../c"\n', "'name' must be an identifier"),
    ("api word", 'name = "x"\napi = "one"\n', "'api' must be an integer"),
    ("later api", 'name = "x"\napi = 99\n', "needs contract version 99"),
    ("no call", 'name = "x"\n[decoders.d]\nhelp = "h"\n', "needs call ="),
    ("bad call", 'name = "x"\n[decoders.d]\ncall = "os.system"\n', "needs call ="),
    ("not a table", 'name = "x"\ndecoders = 3\n', "must be a table"),
    ("unknown key", 'name = "x"\nfrobs = 3\n', "unknown key 'frobs'"),
]


@pytest.mark.parametrize(("case", "toml", "words"), BROKEN, ids=[row[0] for row in BROKEN])
def test_a_broken_descriptor_is_a_warning(case: str, toml: str, words: str, tmp_path: Path) -> None:
    folder = make(tmp_path, "broken", "", head=toml)
    registry = discover([folder])
    (warning,) = registry.warnings
    assert words in warning
    assert "broken" in warning or "'x'" in warning
    assert "tesla" in registry.infos, "the others still work"


def test_binary_descriptor_and_missing_paths_are_warnings(tmp_path: Path) -> None:
    folder = make(tmp_path, "binary", "")
    (folder / "plugin.toml").write_bytes(b"\xff\xfe\x00")
    registry = discover([folder, tmp_path / "nowhere", folder / "code.py"])
    assert len(registry.warnings) == 3
    assert "is not a folder" in registry.warnings[1]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_module_anywhere\n", "ModuleNotFoundError"),
        ("def greet(:\n", "SyntaxError"),
        ("raise RuntimeError('at import')\n", "RuntimeError: at import"),
        ("x = 1\n", "'code:greet' of decoders 'greet' does not exist"),
    ],
)
def test_broken_code_is_one_line_that_names_the_plugin(
    code: str, words: str, tmp_path: Path
) -> None:
    registry = discover([make(tmp_path, "faulty", decoder_row("greet", "code:greet"), code)])
    assert registry.warnings == []
    exit_code, output = registry.run_decoder("greet", ["you"])
    assert exit_code == 4
    assert "plugin 'faulty' does not load" in output
    assert words in output
    assert "\n" not in output
    assert info(registry, "faulty")["state"] == "broken"
    assert registry.load_all()
    assert registry.run_decoder("physid", ["0"])[0] == 0


@pytest.mark.parametrize(
    ("attribute", "words"),
    [("crash", "plugin 'rough' failed: KeyError: 'inside'"), ("wrong", "not Decoded")],
)
def test_a_decoder_that_misbehaves(attribute: str, words: str, tmp_path: Path) -> None:
    registry = discover([make(tmp_path, "rough", decoder_row("d", f"code:{attribute}"))])
    code, output = registry.run_decoder("d", [])
    assert code == 4
    assert words in output


def test_a_later_plugin_of_the_same_name_replaces_the_earlier(tmp_path: Path) -> None:
    make(tmp_path / "a", "same", decoder_row("first", "code:greet"))
    make(tmp_path / "b", "same", decoder_row("second", "code:greet"))
    registry = discover([tmp_path / "a", tmp_path / "b"])
    assert "first" not in registry.entries["decoders"]
    assert registry.run_decoder("second", ["x"]) == (0, "hello x")
    assert "replaces" in registry.warnings[0]


def test_two_folders_of_one_name_do_not_share_modules(tmp_path: Path) -> None:
    other = GREET.replace('"hello "', '"bye "')
    first = discover([make(tmp_path / "a", "twin", decoder_row("greet", "code:greet"))])
    second = discover([make(tmp_path / "b", "twin", decoder_row("greet", "code:greet"), other)])
    assert first.run_decoder("greet", ["x"])[1] == "hello x"
    assert second.run_decoder("greet", ["x"])[1] == "bye x"
    assert first.run_decoder("greet", ["x"])[1] == "hello x"


def test_a_taken_entry_name_stays_reachable(tmp_path: Path) -> None:
    registry = discover([make(tmp_path, "rival", decoder_row("physid", "code:greet"))])
    assert "TP 0" in registry.run_decoder("physid", ["0"])[1]
    assert registry.run_decoder("rival:physid", ["0"]) == (0, "hello 0")
    assert "taken by plugin 'tesla'" in registry.warnings[0]


def install(root: Path, package: str, entry: str, files: dict[str, str]) -> None:
    """A package as installed in a site-packages folder."""
    (root / package).mkdir(parents=True)
    for name, content in files.items():
        (root / package / name).write_text(content)
    dist = root / f"{package}-3.4.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 3.4\n")
    (dist / "entry_points.txt").write_text(f"[gpudbg.plugins]\n{package} = {entry}\n")


DESCRIPTOR = """\
from gpudbg.plugin import Entry, Plugin
plugin = Plugin("installed_one", "3.4", "from an entry point", (
    Entry("decoders", "shout", "installed_one.code:greet", help="shouts"),
))
"""


def test_installed_with_a_descriptor_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path, "installed_one", "installed_one:plugin",
        {"__init__.py": DESCRIPTOR, "code.py": GREET},
    )  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    registry = discover()
    found = info(registry, "installed_one")
    assert (found["version"], found["source"], found["adds"]) == ("3.4", "installed", {})
    assert "installed_one" not in sys.modules, "listing imports nothing"
    assert registry.run_decoder("shout", ["x"]) == (0, "hello x")
    assert info(registry, "installed_one")["adds"] == {"decoders": ["shout"]}


def test_installed_with_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = 'name = "installed_two"\nversion = "9"\n' + decoder_row("whisper", "code:greet")
    install(
        tmp_path, "installed_two", "installed_two",
        {"__init__.py": "", "code.py": GREET, "plugin.toml": table},
    )  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    registry = discover()
    assert info(registry, "installed_two")["adds"] == {"decoders": ["whisper"]}
    assert "installed_two" not in sys.modules
    assert registry.run_decoder("whisper", ["x"]) == (0, "hello x")


def test_installed_and_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "installed_bad", "installed_bad:plugin", {"__init__.py": "raise OSError\n"})
    install(tmp_path, "installed_odd", "installed_odd:plugin", {"__init__.py": "plugin = 3\n"})
    monkeypatch.syspath_prepend(tmp_path)
    registry = discover()
    assert registry.warnings == []
    assert registry.lookup("cli", "nothing") is None
    assert [name for name in ("bad", "odd") if any(f"installed_{name}" in warning
            for warning in registry.warnings)] == ["bad", "odd"]  # fmt: skip
    assert info(registry, "installed_bad")["state"] == "broken"


def test_broken_installed_plugins_are_warnings_of_the_verbs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "installed_ex", "installed_ex:plugin", {"__init__.py": "raise SystemExit\n"})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))  # its own registry
    assert cli.main(["decode", "nothing", "1"]) == 2
    assert "warning: plugin 'installed_ex' does not load: SystemExit" in capsys.readouterr().err
    assert cli.main(["plugins"]) == 0
    assert cli.main(["plugins", "--check"]) == 4
    assert "installed_ex 3.4 (installed, broken)" in capsys.readouterr().out


def test_unknown_names(tmp_path: Path) -> None:
    registry = discover()
    code, output = registry.run_decoder("nothing", [])
    assert code == 2
    assert "known:" in output
    with pytest.raises(UsageError):
        registry.find("views", "nothing")
    with pytest.raises(PluginError):
        registry.import_module("nothing", "code")
    with pytest.raises(AttributeError):
        _ = registry.nothing


@pytest.mark.parametrize(
    ("word", "value"),
    [("0", 0), ("007", 7), ("0x1F", 31), ("0b11", 3), ("0o17", 15), ("-5", -5), ("1_000", 1000)],
)
def test_numbers(word: str, value: int) -> None:
    assert parse_int(word) == value


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_a_usage_error(word: str) -> None:
    try:
        assert isinstance(parse_int(word), int)
    except UsageError:
        return


@given(st.integers(0, (1 << 32) - 1))
def test_numbers_round_trip(value: int) -> None:
    assert parse_int(str(value)) == parse_int(hex(value), bits=32) == value


@pytest.mark.parametrize("word", ["", "1" * 300, "0x", "1.5", "--1", "1__0", "\u0663", "1_"])
def test_not_numbers(word: str) -> None:
    with pytest.raises(UsageError, match="is not a number"):
        parse_int(word)


OPTIONS = (
    Option("--width", unsigned(8), 4, "a width"),
    Option("--mode", one_of("Fast", "Slow"), "Fast"),
    Option("--name", text),
    Option("--flag", None, False),
)


def test_arguments() -> None:
    found = parse_arguments(
        ["a", "--width=7", "-3", "--mode", "sLOW", "--flag", "--", "--width"], OPTIONS
    )
    assert found.words == ("a", "-3", "--width")
    assert (found["width"], found["mode"], found["name"], found["flag"]) == (7, "Slow", None, True)
    assert found.given == {"width", "mode", "flag"}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--nope"], "unknown option '--nope'"),
        (["--width"], "needs a value"),
        (["--width", "256"], "does not fit 8 bits"),
        (["--flag=1"], "takes no value"),
        (["--mode", "odd"], "none of Fast, Slow"),
        (["--width", "1", "--width", "1"], "given twice"),
        (["a", "b", "c"], "unexpected argument 'c'"),
    ],
)
def test_bad_arguments(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_arguments(argv, OPTIONS, words=(0, 2))


def test_required_options_and_words() -> None:
    with pytest.raises(UsageError, match="'--id' is required"):
        parse_arguments([], [Option("--id", unsigned(8), required=True)])
    with pytest.raises(UsageError, match="2 more argument"):
        parse_arguments([], words=(2, 2), usage="A B")


@pytest.mark.parametrize("plugin", ["tesla", "amdgpu"])
def test_bundled_plugins_import_the_contract_alone(plugin: str) -> None:
    allowed = {"gpudbg.plugin", "gpudbg.errors", "gpudbg.bits"}
    folder = ROOT / "plugins" / plugin
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                if name.split(".")[0] == "gpudbg":
                    assert name in allowed, f"{path.name} imports {name}"


def test_every_bundled_entry_loads() -> None:
    registry = discover()
    assert [w for w in registry.warnings if "tesla" in w] == []
    for table in registry.entries.values():
        for entry in table.values():
            assert entry.load() is not None
            assert entry.help, f"{entry.kind} {entry.name} has no help"


def test_a_name_that_was_replaced_works_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="PluginRegisters"):
        old = plugin.RegisterFile
    assert old is plugin.PluginRegisters
