"""Record gdb's answers to the scripts of `language/`, beside them; needs gdb and gcc.

    python -m tests.scripts.record_gdb

The scripts use the language only: control flow, user commands, printf, echo, expressions of
constants.  The tests compare gpudbg's answers with these; they need no gdb.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "language"
BEGIN = "--- begin\n"


def answer(script: Path, program: Path) -> str:
    """What gdb prints for a script, its errors in their place."""
    started = ["-ex", "break main", "-ex", "run", "-ex", "delete", "-ex", "echo --- begin\\n"]
    done = subprocess.run(
        ["gdb", "-q", "-nx", "--batch", *started, "-x", script.name, str(program)],
        cwd=script.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    text = done.stdout.partition(BEGIN)[2]
    text = re.sub(r".*\(y or n\) \[answered Y; input not from terminal\]\n", "", text)
    return text.partition("A debugging session is active.")[0].rstrip("\n") + "\n"


def main() -> None:
    """Record all of them."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "host"
        subprocess.run(["gcc", "-g", "-O0", "-o", program, HERE / "host.c"], check=True)
        for script in sorted(SCRIPTS.rglob("*.gdb")):
            script.with_suffix(".out").write_text(answer(script, program))


if __name__ == "__main__":
    main()
