"""Malformed and edge lines: each gets exactly one well-formed result, and the process lives."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from gpudbg.frontends.mi.commands.families import load
from tests.mi.client import KERNELS, Client
from tests.variants import number

EDGES: list[str] = json.loads(Path(__file__).with_name("edge_lines.json").read_text())

SCRAPS = (
    '1 -1 0x * @ --thread --frame -- " "a b" $pc & % walk walk.cu:25 --all-values x é \\ ( ) 99 '
    "-f -s -e var1 counter threadIdx"
).split(" ")


def mutants(count: int) -> Iterator[str]:
    """Real command names with words that do not belong to them."""
    dice = random.Random(20261120)
    quit_words = ("gdb-exit", "file-exec-and-symbols", "file-exec-file", "file-symbol-file")
    runs = ("exec-", "gpudbg-who", "target-d", "environment", "inferior")
    names = [n for n in sorted(load()) if n not in quit_words and not n.startswith(runs)]
    for _ in range(count):
        token = dice.choice(["", "5", "000"])
        words = [dice.choice(SCRAPS) for _ in range(dice.randrange(5))]
        yield f"{token}-{dice.choice(names)} {' '.join(words)}"


def bombard(client: Client, lines: list[str]) -> None:
    """Send lines one by one; each has exactly one result, with its token, then a prompt."""
    client.ok("-gdb-show confirm")
    client.until(lambda r: r.kind == "prompt")
    for line in lines:
        client.send(line)
        records = client.until(lambda r: r.kind == "prompt")
        results = [r for r in records if r.kind == "^"]
        assert len(results) == 1, (line, records)
        digits = line[: len(line) - len(line.lstrip("0123456789"))]
        assert results[0].token == digits, line
        if results[0].name == "error":
            assert results[0].fields["msg"], line
            assert "internal error" not in results[0].fields["msg"], (line, results[0].fields)
        else:
            assert results[0].name in ("done", "connected"), (line, results[0])


def quit_properly(client: Client) -> None:
    """It is alive, and ends when asked."""
    assert client.process.poll() is None
    client.send("-gdb-exit")
    client.until(lambda r: r.name == "exit")
    assert client.process.wait(15) == 0


def test_without_a_program_before_a_run_and_at_a_stop() -> None:
    with Client("-q", "-i=mi") as client:
        bombard(client, EDGES + list(mutants(number(25, 100))))
        client.ok(f"-file-exec-and-symbols {KERNELS / 'walk.cubin'}")
        bombard(client, EDGES + list(mutants(number(25, 100))))
        client.ok("-break-delete")
        client.ok("-exec-arguments")
        client.ok("-break-insert -t walk.cu:28")
        assert client.go("-exec-run")["reason"] == "breakpoint-hit"
        bombard(client, EDGES + list(mutants(number(60, 250))))
        quit_properly(client)


def test_while_running() -> None:
    lines = [
        n
        for n in EDGES + list(mutants(number(25, 100)))
        if "break" not in n and "interrupt" not in n
    ]
    with Client("-q", "-i=mi", str(KERNELS / "endless.cubin")) as client:
        assert client.ask("-exec-run").name == "running"
        bombard(client, lines)
        client.ok("-exec-interrupt")
        assert client.stop()["signal-name"] == "SIGINT"
        quit_properly(client)
