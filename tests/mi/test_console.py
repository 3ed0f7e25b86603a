"""gdb's command line and prompt: what people type, and tools that read gdb's text, rely on.

The forms are those that gdb 13.1 prints for a C program with the same breakpoints and lines.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mi.client import KERNELS, Client, command, console_text

WALK = str(KERNELS / "walk.cubin")


def typed(lines: str, *args: str) -> str:
    """What a console says to lines typed at once; each waits for the program to stop."""
    done = subprocess.run(
        command("-q", *args, WALK), input=lines, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full(instead="test_commands_of_a_breakpoint")
def test_typed_ahead_lines_wait_for_the_program() -> None:
    out = typed("set gather off\nbreak digits\nrun\nbt\ndelete\nfinish\nnext\n\ncontinue\n")
    assert "Breakpoint 1 at 0x1218: file " in out
    assert (
        "\nCUDA thread hit Breakpoint 1, digits () at walk.cu:14\n14\t    while (x > 0) {\n" in out
    )
    assert re.search(r"#1  0x0000000000001118 in walk \(in@entry=0x\w+, .*\) at walk.cu:28\n", out)
    assert "Run till exit from #0  digits () at walk.cu:14\n" in out
    # Both `next` stay in the function: gdb shows the line alone, the empty line repeats it.
    steps = out[out.index("Run till exit") :].split("(gdb) ")
    assert steps[1].count("\n") == 1
    assert steps[2].count("\n") == 1
    assert re.search(r"\[Inferior 1 \(process \d+\) exited normally\]", out)
    assert "Cannot execute" not in out


@pytest.mark.full(instead="test_commands_of_a_breakpoint")
def test_fullname_tells_an_editor_where_it_is() -> None:
    out = typed("break 28\nrun\nstepi\nup\n", "--fullname")
    places = re.findall(r"^\x1a\x1a(.*)$", out, re.M)
    source = KERNELS / "walk.cu"
    before = len("".join(source.read_text().splitlines(keepends=True)[:27]))
    assert re.match(rf"/.*/walk.cu:28:{before}:beg:0x", places[0])
    # One instruction on is a line of the function inlined there; its caller is line 26.
    assert [p.split(":")[1] for p in places] == ["28", "8", "26"]
    assert places[2].split(":")[3] == "middle"


def test_commands_of_a_breakpoint() -> None:
    out = typed(
        "break walk if threadIdx.x == 5\ncommands\nsilent\nprint threadIdx.x\nend\n"
        "info breakpoints\nrun\nset prompt (mine)\n\n"
    )
    assert "\n        silent\n        print threadIdx.x\n" in out
    assert "$1 = 5\n" in out
    assert "thread hit" not in out
    assert out.endswith("(mine)(mine)")


@pytest.fixture(scope="module")
def walk() -> Iterator[Client]:
    """walk.cubin at line 28, under MI: console lines answer as gdb's do."""
    with Client("-q", "-i=mi", WALK) as client:
        client.ok("-break-insert -t walk.cu:28")
        client.go("-exec-run")
        yield client


def say(client: Client, line: str) -> str:
    """A console line's text."""
    begin = len(client.records)
    client.ok(line)
    return console_text(client.records[begin:])


def test_listings(walk: Client) -> None:
    assert [text.split("\t")[0] for text in say(walk, "list").splitlines()] == [
        str(n) for n in range(23, 33)
    ]
    assert "out of range" in walk.fails("list")
    assert say(walk, "list -").splitlines()[-1].startswith("22\t")
    assert say(walk, "list walk.cu:5,7").startswith("5\t__device__ __forceinline__ int twice")
    assert say(walk, "list 10,11").count("\n") == 2
    assert say(walk, "list ,12").splitlines()[-1].startswith("12\t")
    assert say(walk, "list digits").splitlines()[0].startswith("9\t")
    assert "not defined" in walk.fails("list zork")


SEQUENCES = [
    [
        ("break walk.cu:8", r"Breakpoint \d+ at 0x\w+: walk.cu:8\. \(\d locations\)\n$"),
        ("clear walk.cu:8", r"Deleted breakpoint \d+ \n$"),
    ],
    [
        ("thread 2", r"\[Switching to thread 2 \(CUDA block .*\)\]\n#0  .*\n\d+\t"),
        ("thread 1", r"\[Switching to thread 1 "),
    ],
    [
        ("watch counter", r"Hardware watchpoint \d+: counter\n$"),
        ("info watchpoints", r"Num .*\n\d+ +hw watchpoint +keep y +counter\n$"),
    ],
    [
        ("display counter", r"1: counter = 5\n$"),
        ("info display", r"Auto-display .*\nNum Enb Expression\n1:   y  counter\n$"),
        ("undisplay 1", r"$"),
    ],
]
"""Lines of which later ones need what earlier ones did."""


@pytest.mark.parametrize("lines", SEQUENCES, ids=lambda lines: lines[0][0])
def test_forms_in_turn(walk: Client, lines: list[tuple[str, str]]) -> None:
    for line, form in lines:
        text = say(walk, line)
        assert re.match(form, text), (line, text)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        (
            "info line 25",
            r'Line 25 of "walk.cu" starts at address 0x\w+ <walk\+\d+> and ends at 0x\w+ <walk\+',
        ),
        ("info line *$pc", r'Line 28 of "walk.cu" starts at address 0x\w+ <walk\+\d+> and'),
        ("info source", r"Current source file is .*walk.cu\nLocated in /.*walk.cu\nContains 32 l"),
        ("info symbol digits", r"digits\S* in section \.text"),
        ("info registers R1", r"R1 {13}0x\w+ +\d+\n$"),
        ("info registers pc", r"pc {13}0x(\w+) +0x\1 <walk\+\d+>\n$"),
        ("info registers system", r"P0 {13}0x[01] +[01]\nP1 "),
        ("x/2i $pc", r"=> 0x\w+ <walk\+\d+>:\t\S.*\n   0x\w+ <walk\+\d+>:\t"),
        ("x/2xw &counter", r"0x\w+ <counter>:\t0x00000005\t0x"),
        ("x/1dw &counter", r"0x\w+ <counter>:\t5\n$"),
        ("print counter", r"\$\d+ = 5\n$"),
        ("output counter", r"5"),
        ("print $pc", r"\$\d+ = \(void \(\*\)\(\)\) 0x\w+ <walk\+\d+>\n$"),
        ("print/x $pc", r"\$\d+ = 0x10b8\n$"),
        ("print $_cuda_const_bank(0, 0x150)", r"\$\d+ = 100\n$"),
        ("whatis counter", r"type = int\n$"),
        ("ptype threadIdx", r"type = uint3\n$"),
        ("whatis walk", r"type = <text variable, no debug info>\n$"),
        (r'printf "%d-%04x %s%%\n", counter, 255, "', None),
        (r'printf "%d-%04x%%\n", counter, 255', r"5-00ff%\n$"),
        ("tbreak walk.cu:31", r"Temporary breakpoint \d+ at 0x\w+: file .*walk.cu, line 31\.\n$"),
        ("info frame", r"Stack level 0, frame of walk "),
        ("show width", r"Number of characters gdb thinks are in a line is 100\."),
        ("frame 7", None),
        ("info registers R999", None),
        ("print zork", None),
        ("info functions dig", r"All functions matching .*\n\nFile .*:\n14:\tdigits;\n$"),
        ("info variables", r"All defined variables:\n\nNon-debugging symbols:\n0x\w+  scale\n"),
        ("info files", r"Symbols from \".*walk.cubin\"\.\n.*- 0x\w+ is \.text\.walk\n$"),
        ("info threads", r"  Id   Target Id +Frame \n\* 1 +CUDA block \(0,0,0\) warp 0 +"),
        ("print 740.0f", r"\$\d+ = 740\n$"),
        ("info functions (", None),
        ("delete 99", None),
        ("ptype zork", None),
        ('printf "%d"', None),
        ("ignore 99 1", None),
        ("list 99", None),
    ],
)
def test_forms(walk: Client, line: str, form: str | None) -> None:
    if form is None:
        assert walk.fails(line)
    else:
        text = say(walk, line)
        assert re.match(form, text, re.S if line == "info files" else 0), text


def test_a_source_that_was_moved(tmp_path: Path) -> None:
    """The full name told of a file is one that breakpoints can be set by."""
    for suffix in ("cubin", "cu", "toml"):
        shutil.copy(KERNELS / f"walk.{suffix}", tmp_path)
    with Client("-q", "-i=mi", str(tmp_path / "walk.cubin")) as client:
        client.ok(f'-interpreter-exec console "set substitute-path {KERNELS} {tmp_path}"')
        file = client.ok("-break-insert walk.cu:28")["bkpt"]["fullname"]
        assert file == str(tmp_path / "walk.cu")
        assert client.ok(f"-break-insert {file}:28")["bkpt"]["line"] == "28"
        assert client.ok(f"-break-insert --source {file} --line 31")["bkpt"]["line"] == "31"
        assert client.ok(f"-symbol-list-lines {file}")["lines"]
        client.fails(f"-break-insert {tmp_path}/other.cu:28")


def test_variables_before_a_run() -> None:
    with Client("-q", "-i=mi", WALK) as client:
        assert say(client, "print counter") == "$1 = 5\n"
        assert "not being run" in client.fails("print $R1")


def test_a_program_that_is_not_here() -> None:
    with Client("-q", "-i=mi", "/nowhere/x.cubin") as client:
        assert "No symbol table" in client.fails("-break-insert walk")
        row = client.ok("-break-insert -f walk.cu:28")["bkpt"]
        assert row["addr"] == "<PENDING>"
        client.ok(f"-file-exec-and-symbols {WALK}")
        assert client.go("-exec-run")["bkptno"] == row["number"]
