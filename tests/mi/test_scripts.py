"""Scripts under MI: one interpreter, also before a run, and over stops."""

from __future__ import annotations

from pathlib import Path

from tests.mi.client import KERNELS, Client, console_text

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
