"""Wrong arguments of the Python API: one error of gpudbg's own, which names the parameter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from tests.variants import rows

STEPS = Path(__file__).resolve().parents[2] / "sessions/first_steps/first_steps.cubin"
DATA, OUT = np.arange(256, dtype=np.int32), np.zeros(4, np.int32)
Session = gpudbg.DebugSession

NUMBERS: dict[str, Callable[[Session, Any], Any]] = {
    "count must": lambda s, v: s.step(v),
    "count  must": lambda s, v: s.step_line(v),
    "max_instructions must": lambda s, v: s.run(v),
    "max_instructions  must": lambda s, v: s.cont(v),
    "max_instructions   must": lambda s, v: s.events(max_instructions=v),
}
"""Words of the message -> a call that takes a number from 1 on."""

INDICES: dict[str, Callable[[Session, Any], Any]] = {
    "lane must": lambda s, v: s.warp().lane(v),
    "index must": lambda s, v: s.warp(v),
    "level must": lambda s, v: s.finish(v),
    "size must": lambda s, v: s.memory("in", v),
}
"""The same for a number from 0 on."""


@pytest.fixture
def session() -> Session:
    return gpudbg.open(STEPS)


@rows("words", [*NUMBERS, *INDICES])
@rows("value", [-1, 1.5, 2.0, True, "3", [1], np.float64(2)])
def test_what_is_no_number(session: Session, words: str, value: object) -> None:
    call = (NUMBERS | INDICES)[words]
    with pytest.raises(gpudbg.UsageError, match=" ".join(words.split())):
        call(session, value)
    assert session.stop is not None
    assert session.stop.instructions == 0, "nothing has run"


@pytest.mark.parametrize("words", NUMBERS)
def test_none_of_nothing(session: Session, words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match="at least 1, not 0"):
        NUMBERS[words](session, 0)


def test_numpy_integers_are_integers(session: Session) -> None:
    zero: Any = np.uint8(0)
    one: Any = np.int64(1)
    two: Any = np.int64(2)
    five: Any = np.int32(5)
    assert session.step(two).pc == session.instruction(0x18).offset
    assert session.warp(zero).lane(five).thread == (5, 0, 0)
    assert session.buffer(one).shape == (4,)
    assert session.run(max_instructions=five).kind == "limit"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.step(scope="wrap"), "scope must be one of lane, warp"),
        (lambda s: s.until(1.5), "location must"),
        (lambda s: s.until(-8), "location must"),
        (lambda s: s.jump(1.0), "location must"),
        (lambda s: s.break_at(2.0), "location must"),
        (lambda s: s.break_at("block_max", condition=3), "condition must be a text"),
        (lambda s: s.break_at("block_max", ignore=-1), "ignore must"),
        (lambda s: s.watch_at(3), "expression must"),
        (lambda s: s.watch_at("out[0]", kind="wirte"), "kind must be one of write, read"),
        (lambda s: s.set_focus(3), "focus must"),
        (lambda s: s.focus_on("0", 0, 0), "sm must"),
        (lambda s: s.evaluate(3), "expression must"),
        (lambda s: s.execute(None), "line must"),
        (lambda s: s.memory(1.5), "place must"),
        (lambda s: s.buffer(1.0), "argument must"),
        (lambda s: s.events(3), "kind must"),
        (lambda s: s.trace(3).__enter__(), "event must"),
        (lambda s: s.trace(at=1.5).__enter__(), "location must"),
        (lambda s: s.trace(block="0").__enter__(), "block must"),
    ],
)
def test_other_wrong_arguments(session: Session, call: Callable[..., Any], words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match=words):
        call(session)


def test_an_offset_is_a_location_everywhere(session: Session) -> None:
    session.break_at(0x168, temporary=True)
    assert session.cont().pc == 0x168
    session.restart()
    assert session.until(0x28).pc == 0x28
    session.jump(0x10)
    assert session.warp().pc == 0x10
    number: Any = 1
    with session.trace("barrier", at=0x1D8, block=number) as log:
        session.run()
    assert {entry.block for entry in log} == {(1, 0, 0)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"grid": 0}, "grid"),
        ({"grid": 4.0}, "grid must"),
        ({"grid": (1, 2, 3, 4)}, "grid must be an integer or up to three"),
        ({"grid": True}, "grid must"),
        ({"block": -1}, "block"),
        ({"block": "64"}, "block must"),
        ({"block": (64, 32)}, "a block of 2048 threads; at most 1024"),
        ({"shared_bytes": 1.5}, "shared_bytes must"),
        ({"kernel": "blok_max"}, "no kernel 'blok_max'.*did you mean 'block_max'"),
        ({"kernel": 3}, "kernel must be a text"),
        ({"args": None}, "args must be a list"),
        ({"args": DATA}, "args must be a list of arguments, not a ndarray"),
        ({"args": {"in": DATA}}, "args must be a list of arguments, not a dict"),
        ({"args": "in"}, "args must be a list"),
        ({"coverage": 1.5}, "coverage must"),
        ({"coverage": "x"}, "coverage must"),
    ],
)
def test_launches_that_are_refused(given: dict[str, Any], words: str) -> None:
    wanted: dict[str, Any] = {"kernel": "block_max", "grid": 4, "block": 64}
    with pytest.raises(gpudbg.UsageError, match=words):
        gpudbg.load(STEPS).launch(**{**wanted, "args": [DATA, OUT, 250], **given})


@pytest.mark.parametrize(
    ("call", "value", "words"),
    [
        (gpudbg.load, None, "cannot come from a NoneType"),
        (gpudbg.load, 3, "cannot come from a int"),
        (gpudbg.compile, 3, "text must be a text"),
        (lambda v: gpudbg.Device(num_sms=v), 1.5, "num_sms must"),
        (lambda v: gpudbg.Device(seed=v), "x", "seed must"),
        (lambda v: gpudbg.Device(jobs=v), 1.5, "jobs must"),
        (lambda v: gpudbg.Device(heap_bytes=v), "1M", "heap_bytes must"),
        (gpudbg.assemble, 3, "an instruction is a text"),
        (gpudbg.decode, "0x5C10000000370204", "a word is an integer"),
        (gpudbg.decode, 1.5, "a word is an integer"),
    ],
)
def test_programs_and_devices(call: Callable[[Any], Any], value: object, words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match=words):
        call(value)


def test_bytes_of_any_kind_are_a_program() -> None:
    data = STEPS.read_bytes()
    for kind in (bytes, bytearray, memoryview):
        assert list(gpudbg.load(kind(data)).kernels) == ["block_max"]


def test_one_instruction_is_asked_for() -> None:
    with pytest.raises(gpudbg.AssembleError, match="more than one instruction"):
        gpudbg.assemble("MOV R0, RZ\nEXIT")
    assert gpudbg.assemble("EXIT ; // end; really") == gpudbg.assemble("EXIT")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"args": [1, 2]}, "args must be a list of texts as of --arg"),
        ({"args": "i32:4"}, "args must be a list of texts"),
        ({"grid": 1.5}, "grid must be an integer"),
        ({"block": True}, "block must be an integer"),
        ({"path": 3}, "path must be a file's name"),
    ],
)
def test_open_takes_words(given: dict[str, Any], words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match=words):
        gpudbg.open(given.pop("path", STEPS), **given)


def test_what_has_ended_says_how_to_begin_again(session: Session) -> None:
    session.run()
    for call in (session.run, session.cont, session.step):
        with pytest.raises(gpudbg.CommandError, match=r"session\.restart\(\)"):
            call()


VARIABLES = ".kernel k\nEXIT\n.section .nv.global.init\ntable:\n.word 1, 2, 3, 4\n"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: p.read_symbol("table", count=-1), "count must"),
        (lambda p: p.read_symbol("table", count=1.5), "count must"),
        (lambda p: p.read_symbol("table", offset=-4), "offset must"),
        (lambda p: p.read_symbol("table", "nonsense"), "dtype"),
        (lambda p: p.write_symbol("table", "abc"), "holds no numbers"),
        (lambda p: p.write_symbol("table", None), "holds no numbers"),
        (lambda p: p.write_symbol("table", [1, 2, 3, 4]), "16 bytes, not 32 .*dtype"),
        (lambda p: p.device.buffer("abc"), "holds no numbers but a str"),
        (lambda p: p.device.buffer([object()]), "holds no numbers but a list"),
        (lambda p: p.device.buffer([1, 2]).write("abc"), "cannot become int64"),
        (
            lambda p: p.device.buffer(np.zeros(2, np.int32)).write([1]),
            r"int32\[2\], not int32\[1\]",
        ),
        (lambda p: p.device.buffer(np.zeros(1, np.int8)).write([300]), "cannot become int8"),
        (lambda p: gpudbg.load(STEPS, options="-DN"), "options must be a list of texts"),
    ],
)
def test_variables_and_buffers(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match=words):
        call(gpudbg.assemble_program(VARIABLES))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.warp(sm=1), "which warp of sm 1"),
        (lambda s: s.instruction("x"), "offset must"),
        (lambda s: s.subscribe(3), "gpudbg.Observer, not a int"),
        (lambda s: s.on("access", 3), "function must be a function"),
        (lambda s: s.break_at("block_max", callback=3), "callback must be a function"),
        (lambda s: s.warp().evaluate(None), "expression must"),
        (lambda s: s.warp().lane(3).evaluate(3), "expression must"),
    ],
)
def test_parts_of_a_session(session: Session, call: Callable[..., Any], words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match=words):
        call(session)
    assert len(session.breakpoints) == 0


def test_structures_are_written_as_numpy_reads_them() -> None:
    kind = np.dtype([("a", "<i4"), ("b", "<f4")])
    buffer = gpudbg.Device().buffer(np.zeros(2, kind))
    buffer.write([(1, 2.5), (3, 4.5)])
    assert buffer.array()["b"].tolist() == [2.5, 4.5]
