"""Record gdb's answers to the scripts of `language/`, beside them; needs gdb and gcc.

    python -m tests.scripts.record_gdb

The scripts use the language only: control flow, user commands, printf, echo, expressions of
constants; `memory/` searches, shows and writes the same bytes of a process and of a GPU.  The
tests compare gpudbg's answers with these; they need no gdb.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "language"
MEMORY = HERE / "memory"
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


def memory_answer(folder: Path) -> str:
    """What gdb answers to each line of `memory/memory.gdb`, addresses as the symbols they are in;
    then what it wrote to files.
    """
    program = folder / "table"
    subprocess.run(["gcc", "-g", "-O0", "-o", program, MEMORY / "table.c"], check=True)
    lines = (MEMORY / "memory.gdb").read_text().replace("DIR", str(folder)).splitlines()
    words = ["-ex", "break main", "-ex", "run"]
    for line in lines:
        words += ["-ex", f"echo {BEGIN.strip()}\\n", "-ex", line]
    done = subprocess.run(
        ["gdb", "-q", "-nx", "--batch", *words, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    parts = done.stdout.split(BEGIN)[1:]
    answers = [part.rstrip("\n").partition("\nA debugging session")[0] for part in parts]
    return shown(answers, folder)


def shown(answers: list[str], folder: Path) -> str:
    """Answers to compare: without what differs between a process and a GPU."""
    text = "\n".join(f"> {answer}" for answer in answers)
    text = re.sub(r"0x[0-9a-f]+ (<[a-z]+(?:\+\d+)?>)", r"\1", text)
    text = re.sub(r"memory \(0x[0-9a-f]+ to 0x[0-9a-f]+\)", "memory", text)
    files = (f"{f.name}: {f.read_bytes().hex()}" for f in sorted(folder.iterdir()) if not f.suffix)
    kept = (line for line in files if not line.startswith("table:"))
    return "\n".join((text, *kept)).replace(str(folder), "DIR") + "\n"


def main() -> None:
    """Record all of them."""
    with tempfile.TemporaryDirectory() as name:
        (MEMORY / "memory.out").write_text(memory_answer(Path(name)))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "host"
        subprocess.run(["gcc", "-g", "-O0", "-o", program, HERE / "host.c"], check=True)
        for script in sorted(SCRIPTS.rglob("*.gdb")):
            script.with_suffix(".out").write_text(answer(script, program))


if __name__ == "__main__":
    main()
