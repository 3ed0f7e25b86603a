"""Under MI a program opens also where nobody said how it is launched; only running asks."""

from __future__ import annotations

from pathlib import Path

from tests.mi.client import KERNELS, Client

WALK = str(KERNELS / "walk.cubin")
SAXPY = Path(__file__).resolve().parents[1] / "data" / "kernels" / "cubin" / "sm_50" / "saxpy.cubin"
FLAGS = "--kernel saxpy --grid 1 --block 32 --arg 32 --arg 2.0 --arg f32[32] --arg y=f32[32]"


def test_code_and_breakpoints_before_anything_is_launched() -> None:
    with Client("-q", "--interpreter=mi3") as client:
        begin = len(client.records)
        client.ok(f"-file-exec-and-symbols {SAXPY}")
        assert any("name one of: daxpy, saxpy" in line for line in client.lines(begin))
        row = client.ok("-break-insert saxpy")["bkpt"]
        assert row["func"] == "saxpy"
        assert client.ok("-break-insert -f nosuch")["bkpt"]["pending"] == "nosuch"
        code = client.ok("-data-disassemble -a daxpy -- 0")["asm_insns"]
        assert (code[0]["func-name"], code[0]["inst"]) == ("daxpy", "MOV R1, c[0x0][0x20]")
        assert client.ok("-data-evaluate-expression 6*7") == {"value": "42"}
        assert client.ok("-thread-info") == {"threads": []}
        assert client.fails("-stack-list-frames") == "No registers."
        assert client.fails("-exec-continue") == "The program is not being run."
        client.ok('-interpreter-exec console "x/2i saxpy"')
        for run in ("-exec-run", "-exec-run --start"):
            missing = client.fails(run)
            assert "has 2 kernels; name one of: daxpy, saxpy" in missing
            assert "--kernel NAME" in missing
        assert [b["number"] for b in client.ok("-break-list")["BreakpointTable"]["body"]] == [
            "1",
            "2",
        ]
        client.ok("-gdb-set launch kernel saxpy")
        assert "no argument is given" in client.fails("-exec-run")
        client.ok(f"-exec-arguments {FLAGS}")
        stop = client.go("-exec-run")
        assert (stop["reason"], stop["bkptno"]) == ("breakpoint-hit", "1")
        assert stop["frame"]["func"] == "saxpy"


def test_launch_in_the_console_starts_with_a_proposal() -> None:
    with Client("-q", "--interpreter=mi3", str(SAXPY)) as client:
        begin = len(client.records)
        stop = client.go('-interpreter-exec console "launch saxpy --grid 1"')
        assert stop["frame"]["func"] == "saxpy"
        assert any("run --kernel saxpy --grid 1 --block 64" in r for r in client.lines(begin))
        assert len(client.ok("-thread-info")["threads"]) == 2


def test_launch_flags_before_the_program() -> None:
    """The program is the first word that is no flag and no flag's value."""
    for words in (["--grid", "1", WALK, "--seed=3"], ["--seed=3", "--grid", "1", WALK]):
        with Client("-q", "-i=mi2", *words) as client:
            assert sorted(client.ok("-gdb-show args")["value"].split()) == [
                "--grid",
                "--seed=3",
                "1",
            ]
            client.ok("-break-insert -t walk")
            assert client.go("-exec-run")["frame"]["func"] == "walk"
            assert len(client.ok("-thread-info")["threads"]) == 2
