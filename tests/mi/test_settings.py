"""Settings: those that do something do it, those that do not say so or are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpudbg
from gpudbg.debug.settings import ACCEPTED, CUDA_ROWS, GDB_ROWS, REAL, SAME, Settings
from gpudbg.errors import CommandError
from tests.mi.client import KERNELS, Client, console_text
from tests.variants import rows

WALK = str(KERNELS / "walk.cubin")

AT_START = """\
height 24
confirm on
pagination on
print object on
print sevenbit-strings on
print static-members off
print asm-demangle on
print repeats 0
print max-depth 40
host-charset UTF-8
target-charset UTF-8
target-wide-charset UTF-32
auto-solib-add off
solib-search-path /lib
detach-on-fork off
disassembly-flavor intel
dprintf-style call
python print-stack full
overload-resolution off
unwindonsignal on
startup-with-shell off
disable-randomization off
debuginfod enabled on
env A = 1
"""
"""What clients were recorded or read to send, with a value other than the default."""

REFUSED = """\
exec-direction sideways
scheduler-locking on
schedule-multiple on
step-mode on
input-radix 16
can-use-hw-watchpoints 0
backtrace limit 3
print address off
print symbol-filename on
print zork 1
language pascal
logging enabled on
debug infrun 1
cuda thread_selection physical
cuda software_preemption on
cuda value_extrapolation on
cuda launch_blocking on
cuda memcheck on
cuda zork 1
confirm maybe
print object perhaps
output-radix 3
zork 1
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client("-q", "-i=mi", WALK) as made:
        yield made


@rows("text", AT_START.splitlines())
def test_what_clients_send_at_their_start_is_taken_and_told(client: Client, text: str) -> None:
    begin = len(client.records)
    client.ok(f"-gdb-set {text}")
    log = "".join(r.text for r in client.records[begin:] if r.kind == "&")
    assert log.strip() == f"set {text}: no effect here"


@pytest.mark.parametrize("text", REFUSED.splitlines())
def test_what_would_not_come_true_is_refused(client: Client, text: str) -> None:
    assert client.fails(f"-gdb-set {text}")


@pytest.mark.in_turn(30)
@pytest.mark.parametrize("name", [*(n for n, _ in GDB_ROWS), *(f"cuda {n}" for n, _ in CUDA_ROWS)])
def test_every_row_is_true_or_told(name: str) -> None:
    settings = Settings()
    default = settings.shown(name)
    settings.set(name, default)
    assert not settings.note(name)
    if name in REAL:
        return
    other = {"on": "off", "off": "on"}.get(default, "17")
    if name in ACCEPTED:
        settings.set(name, other)
        assert "no effect here" in settings.note(name)
    else:
        with pytest.raises(CommandError):
            settings.set(name, other)
        assert settings.shown(name) == default
    for value in SAME.get(name, ()):
        settings.set(name, value)


def test_commands_without_an_effect_are_refused(client: Client) -> None:
    assert "not supported" in client.fails("skip function digits")
    assert client.fails("maintenance info sections")
    begin = len(client.records)
    client.ok("handle SIGSEGV nopass stop print")
    assert "no effect" in "".join(r.text for r in client.records[begin:] if r.kind == "&")


def test_radix_and_elements() -> None:
    with Client("-q", "-i=mi", str(KERNELS / "variables.cubin")) as client:
        client.ok("-break-insert variables")
        client.go("-exec-run")
        client.ok("-gdb-set output-radix 16")
        assert client.ok("-data-evaluate-expression ucount")["value"] == "0x7"
        assert client.ok("-data-evaluate-expression bytes")["value"] == "{0x1, 0x2, 0x3, 0xc8}"
        assert client.ok("-data-evaluate-expression lut")["value"] == "{1.5, 2.5, -1, 0.25}"
        assert client.ok("-var-create v * ucount")["value"] == "0x7"
        client.ok("-gdb-set print elements 2")
        assert client.ok("-data-evaluate-expression bytes")["value"] == "{0x1, 0x2, … 2 more}"
        begin = len(client.records)
        client.ok("print bytes")
        assert "{0x1, 0x2, … 2 more}" in console_text(client.records[begin:])


def test_break_on_launch() -> None:
    with Client("-q", "-i=mi", WALK) as client:
        client.ok("-gdb-set cuda break_on_launch application")
        stop = client.go("-exec-run")
        assert (stop["disp"], stop["frame"]["func"]) == ("del", "walk")
        client.ok("-gdb-set cuda break_on_launch none")
        assert client.go("-exec-continue") == {"reason": "exited-normally"}
        assert client.go("-exec-run") == {"reason": "exited-normally"}
    with gpudbg.open(WALK) as session:
        session.command("set cuda break_on_launch all")
        assert session.command("run").lines[0] == "at the entry of walk"
