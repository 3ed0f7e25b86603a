"""Scripts under MI: one interpreter, also before a run, and over stops."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mi.client import KERNELS, PATIENCE, Client, command, console_text

SCRIPT = """set $n = 2
define f
  echo [$arg0]\\n
end
break digits
commands
  silent
  if $n == 2
    set $n = 3
    continue
  end
  echo stopped\\n
end
run
f a
"""


def test_a_file_of_commands_goes_on_over_stops(tmp_path: Path) -> None:
    file = tmp_path / "m.gdb"
    file.write_text(SCRIPT)
    with Client("-q", "-i=mi", str(KERNELS / "walk.cubin")) as client:
        client.ok('-interpreter-exec console "set $count = 0"')
        begin = len(client.records)
        client.go(f'-interpreter-exec console "source {file}"')
        client.ok("-gdb-version")
        client.ok("info breakpoints")
        said = console_text(client.records[begin:])
        assert "[a]" in said


@pytest.mark.full(instead="test_startup_lines_have_no_prompt_between_them")
def test_a_console_is_told_that_nothing_is_behind() -> None:
    words = command("-q", "-nx", "-ex", "start", "-ex", "reverse-stepi", "--batch")
    done = subprocess.run(
        [*words, "-i=console", str(KERNELS / "walk.cubin")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "\nNo more reverse-execution history" in done.stdout


def test_startup_lines_have_no_prompt_between_them() -> None:
    """As in gdb: `-ex` after a run is no line that somebody typed."""
    words = command("-q", "-nx", "-ex", "break 29", "-ex", "run", "-ex", "print 5", "--batch")
    done = subprocess.run(
        [*words, "-i=console", str(KERNELS / "walk.cubin")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.splitlines()[-1] == "$1 = 5"
    assert "(gdb)" not in done.stdout
