"""Inputs without an end, without lines, or far too large: one line, exit code 2, little memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import launching

ROOT = Path(__file__).resolve().parents[2]
FIRST = str(launching.FIRST)
ZEROS = "/dev/zero"

pytestmark = pytest.mark.skipif(not os.path.exists(ZEROS), reason="a device without an end")


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def run(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    with open(stdin or os.devnull, "rb") as file:
        return subprocess.run(
            [sys.executable, "-m", "gpudbg", *words], stdin=file,
            capture_output=True, text=True, check=False, preexec_fn=limits,
        )  # fmt: skip


WAYS: dict[str, tuple[list[str], str | None, str]] = {
    "-x": (["--batch", "-x", ZEROS, FIRST], None, "larger than 16 MiB"),
    "-x -": (["--batch", "-x", "-", FIRST], ZEROS, "line 1 is longer than 1,048,576 characters"),
    "source": (["--batch", "-ex", f"source {ZEROS}", FIRST], None, "larger than 16 MiB"),
    "asm": (["asm", ZEROS, "-o", "OUT"], None, "larger than 256 MiB"),
    "asm -": (["asm", "-", "-o", "OUT"], ZEROS, "larger than 256 MiB"),
    "asm --from": (
        ["asm", "SASS", "--from", ZEROS, "--cubin", "OUT"], None, "gives more than 256 MiB"),
    "decode xid": (["decode", "xid", ZEROS], None, "line 1 is longer than 1,048,576 characters"),
    "decode xid -": (["decode", "xid"], ZEROS, "line 1 is longer than 1,048,576 characters"),
    "repl -": (["repl", FIRST], ZEROS, "more than 16 MiB of commands"),
    "script": (["script", ZEROS], None, ZEROS),
    "restore": (
        ["--batch", "-ex", f"restore {ZEROS} binary 0x705000000", FIRST], None, "than 256 MiB"),
    "launch table": (["run", FIRST, "--launch", ZEROS], None, ZEROS),
}  # fmt: skip


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("way", WAYS)
def test_what_never_ends(way: str, tmp_path: Path) -> None:
    words, stdin, said = WAYS[way]
    sass = tmp_path / "k.sass"
    sass.write_text(".kernel k\n    EXIT ;\n")
    named = {"OUT": str(tmp_path / "out"), "SASS": str(sass)}
    done = run(*[named.get(word, word) for word in words], stdin=stdin)
    assert (done.returncode, done.stdout.strip()) in {(2, ""), (2, "at the entry of block_max")}, (
        done
    )
    assert said in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.full(instead="test_every_reader_bounds_what_it_takes")
def test_a_line_table_that_names_a_device_is_no_source(tmp_path: Path) -> None:
    from tests.formats import hostile

    path = tmp_path / "k.cubin"
    path.write_bytes(hostile.lines_of_file(ZEROS.encode()))
    done = run("--batch", "-ex", "list 1", "-ex", "info line k", "-ex", "run", str(path))
    assert "k ended" in done.stdout, done


def long_log(lines: int) -> Iterator[str]:
    for number in range(lines):
        yield f"[{number}.000000] usb 1-1: new device number {number} using xhci_hcd\n"


@pytest.mark.full(instead="test_what_never_ends")
def test_a_long_log_is_read_in_stretches(tmp_path: Path) -> None:
    """The memory it takes does not grow with the log."""
    from gpudbg.regs.decoders import stream_xid

    path = tmp_path / "dmesg"
    xid = "[9.9] NVRM: Xid (PCI:0000:01:00): 13, pid=7, Graphics SM Warp Exception on (GPC 0, TPC 1): Out Of Range Address\n"  # noqa: E501
    path.write_text("".join(long_log(25_000)) + xid + "".join(long_log(3)))
    parts = list(stream_xid([str(path)]))
    assert max(len(part.data) for part in parts) <= 10_000
    assert sum(len(part.data) for part in parts) == 25_004
    found = [one for part in parts for one in part.data if one["xid"]]
    assert [one["xid"] for one in found] == [13]
    assert parts[-1].lines[-1].startswith("25004: ")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("reader", ["schedule", "baseline", "suppressions", "buffer", "launch"])
def test_every_reader_bounds_what_it_takes(reader: str, tmp_path: Path) -> None:
    """A device without an end, a sparse file of any size, text nested without an end."""
    from gpudbg.errors import GpudbgError
    from gpudbg.formats.launch_toml import parse_launch
    from gpudbg.formats.reading import MOST_READ, read_bytes
    from gpudbg.sanitizer.suppressions import Suppressions
    from gpudbg.sm.schedule.plan import SchedulePlan
    from gpudbg.textlines import beginning

    ways: dict[str, Callable[[str], object]] = {
        "schedule": SchedulePlan.read,
        "baseline": lambda path: Suppressions.read([], path),
        "suppressions": lambda path: Suppressions.read(path, None),
        "buffer": lambda path: read_bytes(path) and None,
        "launch": lambda path: parse_launch(beginning(path, 1 << 20).decode()),
    }
    sparse, deep = tmp_path / "sparse", tmp_path / "deep"
    with sparse.open("wb") as file:
        file.truncate(MOST_READ + 1)
    deep.write_text("[" + "a." * 50_000 if reader == "launch" else "[" * 50_000)
    for path in (ZEROS, str(sparse), str(deep)):
        if reader == "buffer" and path == str(deep):
            continue
        with pytest.raises(GpudbgError) as caught:
            ways[reader](path)
        assert caught.value.exit_code == 2
        assert len(str(caught.value)) < 400
