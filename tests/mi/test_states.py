"""Every MI command in every state of a program: one result each, and never an internal error."""

from __future__ import annotations

import pytest

from gpudbg.frontends.mi.commands.families import load
from tests.mi.client import KERNELS, Client
from tests.variants import some

WORDS = ("", "1", "walk", "--thread 1 --frame 0 1", "- * counter", "x 0 1", "&counter 4", "99 99")
LEAVES = (
    "gdb-exit", "interpreter-exec", "file-", "target-d", "exec-", "gpudbg-who", "inferior",
    "environment",
)  # fmt: skip
RESUMES = ("exec-step", "exec-next", "exec-until", "exec-jump", "exec-finish", "exec-continue")


def state(client: Client, name: str) -> None:
    """Bring the program there."""
    if name == "stopped":
        client.ok("-break-insert -t walk.cu:28")
        client.go("-exec-run")
    elif name == "exited":
        assert client.go("-exec-run") == {"reason": "exited-normally"}
    elif name == "faulted":
        assert client.go("-exec-run")["reason"] == "signal-received"
    elif name == "running":
        assert client.ask("-exec-run").name == "running"


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("loaded", "walk"),
        ("stopped", "walk"),
        ("exited", "walk"),
        ("faulted", "mixed"),
        ("running", "endless"),
        ("no program", None),
    ],
)
def test_every_command(name: str, kernel: str | None) -> None:
    path = [str(KERNELS / f"{kernel}.cubin")] if kernel else []
    with Client("-q", "-i=mi3", *path) as client:
        state(client, name)
        wrong = []
        for command in sorted(load()):
            if command.startswith(LEAVES):
                continue
            for words in some(f"{name} {command}", WORDS, 2):
                record = client.ask(f"-{command} {words}")
                if "internal error" in str(record.fields.get("msg", "")):
                    wrong.append(record.line)
        for command in RESUMES if name not in ("stopped", "running") else ():
            record = client.ask(f"-{command} 1")
            if name != "faulted" or command != "exec-continue":
                assert record.name == "error", (command, record.line)
                assert "internal error" not in record.line
        assert wrong == []
