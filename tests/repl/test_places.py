"""Where something happened, as data; and `Stop.check`, which raises where something is wrong."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg import cli

ROOT = Path(__file__).resolve().parents[2]
CUBINS = ROOT / "tests/data/kernels/cubin/sm_50"
SMOOTH = ROOT / "sessions/out_of_bounds/out_of_bounds.cubin"


def place(thing: gpudbg.Stop | gpudbg.ErrorRecord | gpudbg.TraceEntry) -> tuple[object, ...]:
    assert thing.file is not None
    return Path(thing.file).name, thing.line, thing.function, thing.inlined_at


def test_a_fault_says_its_source_place_as_data() -> None:
    stop = gpudbg.open(SMOOTH).run()
    assert place(stop) == ("out_of_bounds.cu", 8, "smooth", ())
    assert place(stop.errors[0]) == ("out_of_bounds.cu", 8, "smooth", ())


def test_a_place_that_was_inlined_says_its_function_and_who_calls_it() -> None:
    program = gpudbg.load(CUBINS / "warp_ops.cubin")
    kernel = next(k for k in program.kernels.values())
    assert kernel.name
    args = [np.zeros(64 * 16, np.uint32) if p.size == 8 else 0 for p in kernel.params]
    with program.launch(kernel.name, 1, 32, args) as session:
        with session.trace() as log:
            session.run()
        inlined = [entry for entry in log if entry.inlined_at]
        assert inlined
        (site,) = inlined[0].inlined_at
        assert (inlined[0].function, site.function) == ("keep", kernel.name)
        assert site.line in (25, 26, 27, 28, 29, 30)
        session.restart()
        session.break_at(inlined[0].offset)
        stop = session.cont()
    assert (stop.function, stop.inlined_at, stop.line) == (
        "keep",
        inlined[0].inlined_at,
        inlined[0].line.number if inlined[0].line else None,
    )


def test_without_a_line_table_there_is_the_function_alone() -> None:
    text = ".kernel k\nMOV R0, RZ\nEXIT\n"
    from gpudbg.assembler import assemble_file

    session = gpudbg.load(assemble_file(text).cubin()).launch("k")
    stop = session.step()
    assert (stop.file, stop.line, stop.function, stop.inlined_at) == (None, None, "k", ())


def test_the_end_is_nowhere() -> None:
    stop = gpudbg.open(ROOT / "sessions/first_steps/first_steps.cubin").run()
    assert (stop.file, stop.line, stop.function) == (None, None, None)


def test_json_has_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(SMOOTH), "--json"]) == 3
    stop = json.loads(capsys.readouterr().out)["stop"]
    assert (stop["line"], stop["function"], stop["inlined_at"]) == (8, "smooth", [])
    assert stop["file"].endswith("out_of_bounds.cu")
    assert (stop["errors"][0]["line"], stop["errors"][0]["function"]) == (8, "smooth")
    assert stop["card"][0] == stop["message"]


def test_a_watchpoint_says_who_and_where() -> None:
    session = gpudbg.open(ROOT / "sessions/first_steps/first_steps.cubin")
    session.watch_at("out[0]")
    (seen,) = session.cont().watch
    assert seen.line == 24
    assert seen.function == "block_max"


# ---- check -----------------------------------------------------------------------------
def test_check_gives_back_a_clean_stop() -> None:
    session = gpudbg.open(ROOT / "sessions/first_steps/first_steps.cubin")
    session.break_at("block_max+0x178")
    assert session.step().check() is session.stop
    assert session.cont().check().kind == "breakpoint"
    assert session.run().check().kind == "exited"


def test_check_raises_the_fault_card() -> None:
    stop = gpudbg.open(SMOOTH).run()
    with pytest.raises(gpudbg.GpudbgError) as caught:
        stop.check()
    error = caught.value
    assert isinstance(error, gpudbg.KernelError)
    assert error.stop is stop
    assert error.exit_code == 3
    words = str(error)
    for part in ("MMU_FAULT", "out_of_bounds.cu:8", "thread (57,0,0)", "LDG.E", "nearest"):
        assert part in words
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.stop) == (words, stop)


@pytest.mark.parametrize("name", ["fault_trap", "fault_divergent_barrier"])
def test_check_raises_traps_and_deadlocks(name: str) -> None:
    program = gpudbg.load(CUBINS / f"{name}.cubin")
    kernel = next(iter(program.kernels.values()))
    args = [np.arange(256, dtype=np.int32) if p.size == 8 else 40 for p in kernel.params]
    stop = program.launch(kernel.name, 2, 64, args).run()
    assert stop.kind in ("trap", "deadlock", "warp_error")
    with pytest.raises(gpudbg.KernelError, match=kernel.name):
        stop.check()


def test_check_does_not_take_an_unfinished_run_for_a_clean_one() -> None:
    session = gpudbg.open(ROOT / "sessions/first_steps/first_steps.cubin")
    with pytest.raises(gpudbg.KernelError, match="stopped after 10 warp instructions") as caught:
        session.run(max_instructions=10).check()
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    "error",
    [
        gpudbg.UsageError("no", "do this"),
        gpudbg.LoadError("bad", path="k.cubin", offset=4),
        gpudbg.AssembleError("bad", path="k.sass", line=3, column=4, expected="a register"),
        gpudbg.DecodeError("bad", word=3),
    ],
)
def test_errors_can_be_sent_between_processes(error: gpudbg.GpudbgError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_line_is_its_number_too() -> None:
    session = gpudbg.open(SMOOTH)
    with session.trace("access") as log:
        stop = session.run()
    assert log[-1].line == stop.line == 8
    assert log[-1].line != 9
    assert log[-1].line is not None
    other = type(log[-1].line)("other.cu", 8)
    assert log[-1].line != other
    assert int(other) == 8
    assert len({log[-1].line, other}) == 2
