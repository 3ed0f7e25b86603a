"""The method table, the machine, both stream forms, and the verb `gpudbg tesla`."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpudbg_plugins.tesla import methods, run, stream
from gpudbg_plugins.tesla.hierarchy import Chip, Hierarchy
from gpudbg_plugins.tesla.machine import TeslaMachine
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import GpudbgError, LoadError, ModelGap
from gpudbg.plugin import parse_arguments
from tests.variants import rows

#: Offsets of the notes: name, tesla, turing.
DOCUMENTED = """\
DMA_CODE_CB 0x198 0x1c0
VP_ADDRESS_HIGH 0xf7c -
GP_ADDRESS_HIGH 0xf70 -
FP_ADDRESS_HIGH 0xfa4 -
CP_ADDRESS_HIGH - 0x210
VP_ADDRESS_LOW 0xf80 -
GP_ADDRESS_LOW 0xf74 -
FP_ADDRESS_LOW 0xfa8 -
CP_ADDRESS_LOW - 0x214
VP_START_ID 0x140c -
GP_START_ID 0x1410 -
FP_START_ID 0x1414 -
CP_START_ID - 0x3b4
VP_REG_ALLOC_TEMP 0x16b0 -
GP_REG_ALLOC_TEMP 0x17a0 -
FP_REG_ALLOC_TEMP 0x198c -
CP_REG_ALLOC_TEMP - 0x2c0
VP_REG_ALLOC_RESULT 0x16b8 -
GP_REG_ALLOC_RESULT 0x17a8 -
CODE_CB_FLUSH 0x1440 0x380
WARP_HALVES 0x19a0 0x3b8
DMA_STACK 0x194 0x1bc
DMA_LOCAL 0x190 0x1b8
STACK_ADDRESS_HIGH 0xd94 0x218
STACK_ADDRESS_LOW 0xd98 0x21c
STACK_SIZE_LOG 0xd9c 0x220
LOCAL_ADDRESS_HIGH 0x12d8 0x294
LOCAL_ADDRESS_LOW 0x12dc 0x298
LOCAL_SIZE_LOG 0x12e0 0x29c
LOCAL_WARPS_LOG_ALLOC 0xf44 0x2fc
LOCAL_WARPS_NO_CLAMP 0xf48 0x300
STACK_WARPS_LOG_ALLOC 0xf4c 0x304
STACK_WARPS_NO_CLAMP 0xf50 0x308
CB_ADDR 0xf00 0x238
CB_DATA 0xf04 0x23c
CB_DATA[15] 0xf40 0x278
CB_DEF_ADDRESS_HIGH 0x1280 0x2a4
CB_DEF_ADDRESS_LOW 0x1284 0x2a8
CB_DEF_SET 0x1288 0x2ac
SET_PROGRAM_CB 0x1694 0x3c8
GRIDID - 0x388
GRIDDIM - 0x3a4
SHARED_SIZE - 0x3a8
BLOCKDIM_XY - 0x3ac
BLOCKDIM_Z - 0x3b0
THREADS_PER_BLOCK - 0x2b4
LANES32_ENABLE - 0x2b8
USER_PARAM_COUNT - 0x374
USER_PARAM[0] - 0x600
USER_PARAM[63] - 0x6fc
BLOCKDIM_LATCH - 0x2f8
LAUNCH - 0x368
DMA_GLOBAL - 0x1a0
GLOBAL_BASE_HIGH[0] - 0x400
GLOBAL_BASE_LOW[1] - 0x424
GLOBAL_PITCH[14] - 0x5c8
GLOBAL_LIMIT[15] - 0x5ec
GLOBAL_MODE[15] - 0x5f0
""".splitlines()


@rows("row", DOCUMENTED)
def test_documented_offsets(row: str) -> None:
    name, *offsets = row.split()
    for obj, offset in zip(methods.OBJECTS, offsets, strict=True):
        if offset != "-":
            assert methods.resolve(f"{obj}.{name}", "tesla") == (obj, int(offset, 16))
        else:
            with pytest.raises(GpudbgError, match="has no method"):
                methods.resolve(f"{obj}.{name}", "tesla")


def test_no_two_methods_share_an_offset() -> None:
    for obj in methods.OBJECTS:
        rows = [row for row in methods.METHODS if row.offset(obj) is not None]
        assert len(methods.BY_OFFSET[obj]) == sum(row.count for row in rows)


def machine() -> TeslaMachine:
    return TeslaMachine(Chip(0xA0), Hierarchy(3, 7))


def write(held: TeslaMachine, name: str, value: int, obj: str = "turing") -> str | None:
    """Write one method; the name of its DATA_ERROR, or None."""
    found = held.write(*methods.resolve(name, obj), value)
    return found.error.name if found.error else None


VALUES = [
    ("LOCAL_WARPS_LOG_ALLOC", 5, "INVALID_VALUE"),
    ("LOCAL_WARPS_LOG_ALLOC", 7, None),
    ("LOCAL_WARPS_LOG_ALLOC", 4, None),
    ("STACK_WARPS_LOG_ALLOC", 5, "INVALID_VALUE"),
    ("STACK_WARPS_LOG_ALLOC", 6, "INVALID_VALUE"),
    ("STACK_WARPS_LOG_ALLOC", 0x80000000, "INVALID_VALUE"),
    ("LOCAL_WARPS_NO_CLAMP", 2, "INVALID_VALUE"),
    ("LOCAL_SIZE_LOG", 0xE, "INVALID_VALUE"),
    ("LOCAL_SIZE_LOG", 0xD, None),
    ("LOCAL_ADDRESS_LOW", 0x80, "INVALID_VALUE"),
    ("STACK_SIZE_LOG", 0xE, "INVALID_VALUE"),
    ("WARP_HALVES", 0, None),
    ("WARP_HALVES", 3, "INVALID_ENUM"),
    ("tesla.WARP_HALVES", 0, "INVALID_ENUM"),
    ("tesla.WARP_HALVES", 2, None),
    ("CP_START_ID", 2, "INVALID_VALUE"),
    ("CP_START_ID", 0x1000000, "INVALID_VALUE"),
    ("CP_REG_ALLOC_TEMP", 129, "INVALID_VALUE"),
    ("CB_ADDR", 0x400000, "INVALID_BITFIELD"),
    ("CB_DEF_SET", 0x00010080, "INVALID_VALUE"),
    ("CB_DEF_SET", 0x80010000, "INVALID_BITFIELD"),
    ("CB_DATA", 1, "INVALID_OPERATION"),
    ("SET_PROGRAM_CB", 0x80001, "INVALID_BITFIELD"),
    ("tesla.SET_PROGRAM_CB", 0x11, "INVALID_ENUM"),
    ("tesla.SET_PROGRAM_CB", 0x31, None),
    ("GRIDID", 0x10000, "INVALID_BITFIELD"),
    ("GRIDDIM", 0xFFFFFFFF, None),
    ("SHARED_SIZE", 0x20, "INVALID_VALUE"),
    ("SHARED_SIZE", 0x4040, "INVALID_VALUE"),
    ("SHARED_SIZE", 0x4000, None),
    ("BLOCKDIM_Z", 0, "INVALID_VALUE"),
    ("BLOCKDIM_Z", 65, "INVALID_VALUE"),
    ("THREADS_PER_BLOCK", 0x01000001, "INVALID_BITFIELD"),
    ("LANES32_ENABLE", 2, "INVALID_VALUE"),
    ("USER_PARAM_COUNT", 65 << 8, "INVALID_VALUE"),
    ("USER_PARAM_COUNT", 64 << 8, None),
    ("USER_PARAM_COUNT", 2 << 8 | 2, "INVALID_VALUE"),
    ("USER_PARAM_COUNT", 1 << 16, "INVALID_BITFIELD"),
    ("LAUNCH", 1, "INVALID_VALUE"),
    ("LAUNCH", 0, "CP_NO_BLOCKDIM_LATCH"),
    ("GLOBAL_PITCH[3]", 0x880000, "INVALID_VALUE"),
    ("GLOBAL_PITCH[3]", 0x800000, None),
    ("GLOBAL_LIMIT[3]", 0x1000, None),
    ("GLOBAL_LIMIT[3]", 0, None),
    ("GLOBAL_MODE[3]", 0x600, "INVALID_VALUE"),
    ("GLOBAL_MODE[3]", 0x501, None),
    ("CODE_CB_FLUSH", 4, "INVALID_VALUE"),
]


@rows(("name", "value", "error"), VALUES)
def test_values(name: str, value: int, error: str | None) -> None:
    held = machine()
    before = held.to_json()
    assert write(held, name, value) == error
    if error:
        assert held.to_json() == before, "a refused write changes nothing"


def test_a_linear_limit_is_checked_in_either_order() -> None:
    held = machine()
    assert write(held, "GLOBAL_LIMIT[3]", 0x001F003F) is None, "a 2D limit is free"
    assert write(held, "GLOBAL_MODE[3]", 1) == "INVALID_VALUE"
    assert write(held, "GLOBAL_LIMIT[3]", 0xFFF) is None
    assert write(held, "GLOBAL_MODE[3]", 1) is None
    assert write(held, "GLOBAL_LIMIT[3]", 0x1000) == "INVALID_VALUE"
    assert write(held, "GLOBAL_LIMIT[3]", 0) is None


def test_later_names_of_methods() -> None:
    for name, offset in (
        ("REG_MODE", 0x3B8), ("BLOCK_ALLOC", 0x2B4), ("GLOBAL_ADDRESS_LOW[2]", 0x444),
        ("CB_FLUSH", 0x380),
    ):  # fmt: skip
        assert methods.resolve(name, "turing") == ("turing", offset)


def launchable() -> TeslaMachine:
    held = machine()
    for name, value in (
        ("BLOCKDIM_XY", 0x00030002), ("BLOCKDIM_Z", 4), ("THREADS_PER_BLOCK", 21),
        ("GRIDDIM", 0x00020003), ("SHARED_SIZE", 0x40), ("BLOCKDIM_LATCH", 1),
    ):  # fmt: skip
        assert write(held, name, value) is None
    return held


@pytest.mark.parametrize("name", ["BLOCKDIM_XY", "BLOCKDIM_Z", "THREADS_PER_BLOCK"])
def test_a_new_shape_needs_a_new_latch(name: str) -> None:
    held = launchable()
    assert write(held, "LAUNCH", 0) is None
    held.write("turing", methods.resolve(name, "turing")[1], held.get("turing", name))
    assert write(held, "LAUNCH", 0) == "CP_NO_BLOCKDIM_LATCH"
    assert write(held, "BLOCKDIM_LATCH", 1) is None
    assert write(held, "LAUNCH", 0) is None


def test_grid_and_parameters_need_no_new_latch() -> None:
    held = launchable()
    for name in ("GRIDDIM", "GRIDID", "USER_PARAM"):
        assert write(held, name, 1) is None
    assert write(held, "LAUNCH", 0) is None


def test_too_many_threads() -> None:
    held = launchable()
    write(held, "THREADS_PER_BLOCK", 25)
    write(held, "BLOCKDIM_LATCH", 1)
    assert write(held, "LAUNCH", 0) == "CP_BLOCK_SIZE_MISMATCH"


def test_both_objects_share_const_buffers() -> None:
    held = machine()
    write(held, "tesla.CB_DEF_ADDRESS_LOW", 0x1000)
    write(held, "tesla.CB_DEF_SET", 3 << 16 | 0x100)
    write(held, "turing.SET_PROGRAM_CB", 3 << 12 | 1)
    write(held, "tesla.CB_ADDR", 3)
    for index in range(16):
        assert write(held, f"tesla.CB_DATA[{index}]", 100 + index) is None
    assert [held.consts.read("CP", 0, 4 * i) for i in range(16)] == list(range(100, 116))


def test_a_method_outside_the_model_is_a_gap() -> None:
    with pytest.raises(ModelGap, match=r"0x0204 of the turing object = 0x00000007"):
        machine().write("turing", 0x204, 7)


STREAM = """\
# the notes' example
chipset = 0xa0
pmc = 0x03000003
object = turing
BLOCKDIM_XY = 0x00030002
BLOCKDIM_Z = 4          # z
0\u00d72b4 = 21
GRIDDIM = 0x00020002
SHARED_SIZE = 0x40
LAUNCH = 0
BLOCKDIM_LATCH = 1
LAUNCH = 0
CB_DEF_ADDRESS_LOW = 0x1000
CB_DEF_SET = 0x00030100
SET_PROGRAM_CB = 0x3001
CB_ADDR = 0x3
CB_DATA = 0x11
read c0[0]
vram[0x1000] = 0x22
read c0[0]
tesla.CODE_CB_FLUSH = 0
read CP.c0[0]
GLOBAL_MODE[14] = 1
GLOBAL_LIMIT[14] = 0xff
read g14[0x100]
read vram[0x1000]
"""


def steps_of(text: str) -> list[dict[str, Any]]:
    statements = stream.parse(text.encode(), "test")
    built = run.build_machine(parse_arguments([], run._RUN), statements)
    return list(run.run(built, statements))


def test_a_stream_from_end_to_end() -> None:
    steps = {step["where"]: step for step in steps_of(STREAM)}
    assert steps["line 10"]["error"]["name"] == "CP_NO_BLOCKDIM_LATCH"
    launch = steps["line 12"]["launch"]
    assert launch["block_order"] == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert (launch["lanes"], launch["cut_off"], len(launch["threads"])) == (16, 3, 21)
    assert launch["threads"][20] == {
        "tid": [0, 1, 3], "warp": 1, "lane": 4, "r0": 0x0C010000, "r0_hex": "0x0c010000",
    }  # fmt: skip
    assert [steps[f"line {n}"]["value"] for n in (18, 20, 22, 26)] == [0x11, 0x11, 0x22, 0x22]
    assert "still holds the old word" in steps["line 19"]["effect"]
    assert steps["line 25"]["error"]["name"] == "GLOBAL_LIMIT_READ"
    assert steps["line 8"]["state"]["grid"] == [2, 2]
    assert steps["line 8"]["unit"] == "turing.launch"


THREADS = """\
chipset = 0xa0
pmc = 0x07000016
LANES32_ENABLE = 1
WARP_HALVES = 2
LOCAL_ADDRESS_LOW = 0x100000
LOCAL_SIZE_LOG = 3
LOCAL_WARPS_LOG_ALLOC = 2
STACK_ADDRESS_LOW = 0x8000
STACK_SIZE_LOG = 6
STACK_WARPS_LOG_ALLOC = 7
l[0x10] 0x00410b05 = 0xcafe
"""
LOCAL_NO_CLAMP = "LOCAL_WARPS_NO_CLAMP = 1\n"


def test_local_memory_of_threads_and_aliasing() -> None:
    head = THREADS.replace("l[0x10]", LOCAL_NO_CLAMP + "l[0x10]")
    steps = steps_of(
        head + "read l[0x10] 0x00410b05\nread l[0x10] 0x00410305\nread l[0x10] 0x00410405\n"
        "read l[0x40] 0x00410b05\n"
    )
    stored, same, alias, other, beyond = steps[-5:]
    assert stored["address"] == same["address"] == alias["address"]
    assert (same["value"], alias["value"], other["value"]) == (0xCAFE, 0xCAFE, 0)
    assert beyond["error"]["name"] == "LOCAL_LIMIT_READ"
    block = 0x200
    outer = 3 * 4 * 3 * block
    assert stored["address"] == 0x100000 + outer + 2 * 12 * block + 9 * block + block + 20


def test_a_clamped_warp_does_not_run() -> None:
    with pytest.raises(GpudbgError, match="line 11: warp 11 does not run"):
        steps_of(THREADS)


def test_stacks_spill_into_memory_a_dump_would_show() -> None:
    head = THREADS.rsplit("\n", 2)[0] + "\n"
    pushes = "".join(f"push 0x00410b05 call 0x{8 * i:x} 0xff\n" for i in range(17))
    steps = steps_of(head + pushes + "read vram[0x8000]\n" + "pop 0x00410b05\n" * 18)
    spilled = [event for step in steps for event in step.get("events", []) if "spilled" in event]
    assert [event.split(":")[1].split()[:2] for event in spilled] == [
        ["block", "0"],
        ["block", "1"],
    ]
    place = TeslaMachine(Chip(0xA0), Hierarchy(0x16, 7))
    for name, value in (("STACK_ADDRESS_LOW", 0x8000), ("STACK_WARPS_LOG_ALLOC", 7)):
        write(place, name, value)
    offset = place.stack_layout("turing").address(0, 11, 1, 4)
    assert f"spilled to 0x{offset:08x}" in spilled[0]
    popped = [step["entry"]["target"] for step in steps[-18:-1]]
    assert popped == [8 * i for i in range(16, -1, -1)]
    assert steps[-1]["error"]["name"] == "STACK_UNDERFLOW"


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("push 0 call 0", "line 12: TP 0 is not active"),
        ("push 0x00410b05 jump 0", "no stack entry type 'jump'"),
        ("push 0x00410b05 call 2", "not aligned to 4"),
        ("STACK_SIZE_LOG = 0\npush 0x00410b05 call 0", "the stack is off"),
        ("l[2] 0x00410305 = 1", "not aligned to a word"),
        ("g0[2] = 1", "not aligned to a word"),
        ("vram[2] = 1", "not the address of a word"),
    ],
)
def test_impossible_accesses(tail: str, message: str) -> None:
    head = THREADS.replace("l[0x10]", LOCAL_NO_CLAMP + "l[0x10]").rsplit("\n", 2)[0] + "\n"
    with pytest.raises(GpudbgError) as raised:
        steps_of(head + tail + "\n")
    assert message in str(raised.value)


def test_stack_limit() -> None:
    head = THREADS.rsplit("\n", 2)[0].replace("STACK_SIZE_LOG = 6", "STACK_SIZE_LOG = 1") + "\n"
    steps = steps_of(head + "push 0x00410b05 call_limited 0\n" * 5)
    assert [step["error"] is None for step in steps[-5:]] == [True] * 4 + [False]
    assert steps[-1]["error"]["name"] == "STACK_LIMIT"
    assert steps[-2]["entry"]["type_name"] == "call limited"


def header(method: int, count: int, subchannel: int = 6, kind: int = 0) -> int:
    return kind << 29 | count << 18 | subchannel << 13 | method


def test_pushbuffer_binary_and_hex_text() -> None:
    words = [
        header(0, 1, 2), 0xBEEF50C0,
        header(0x3AC, 2, 2), 0x00030002, 4,
        0,
        header(0x2A8, 2, 2), 0x1000, 0x00030100,
        header(0x238, 1, 2), 3,
        header(0x23C, 3, 2, kind=2), 7, 8, 9,
    ]  # fmt: skip
    binary = struct.pack(f"<{len(words)}I", *words)
    text = "\n".join(f"0x{word:08x}  # word" for word in words).encode()
    for data in (binary, text, text.replace(b"0x", b"")):
        held = machine()
        statements = stream.parse(data, "push")
        for step in run.run(held, statements):
            assert step["error"] is None
        assert held.launch_config().block == (2, 3, 4)
        assert [held.memory.read(0x1000 + 4 * i) for i in range(3)] == [7, 8, 9]


@pytest.mark.parametrize(
    ("words", "offset", "message"),
    [
        ([header(0x3AC, 2), 1], 0, "announces 2 words, 1 missing"),
        ([0x20000004], 0, "is no method header"),
        ([header(0x3AC, 1) | 1, 0], 0, "is no method header"),
        ([header(0, 1), 0x1234], 4, "names no known class"),
    ],
)
def test_bad_pushbuffers(words: list[int], offset: int, message: str) -> None:
    with pytest.raises(LoadError) as raised:
        stream.parse(struct.pack(f"<{len(words)}I", *words), "push.bin")
    assert f"push.bin at offset 0x{offset:x}" in str(raised.value)
    assert message in str(raised.value)


def test_unbound_subchannels() -> None:
    words = [header(0x388, 1, 0), 5, header(0x19A0, 1, 3), 2, header(0x3B8, 1, 6), 1]
    data = struct.pack(f"<{len(words)}I", *words)
    assert [s.obj for s in stream.parse(data, "p")] == ["turing", "tesla", "turing"]
    assert [s.obj for s in stream.parse(data, "p", "tesla")] == ["tesla", "tesla", "turing"]


def test_torn_pushbuffer() -> None:
    with pytest.raises(LoadError, match=r"offset 0x4.*5 bytes are not"):
        stream.parse(b"\x00\x00\x00\x00\xff", "push.bin")


@rows(
    ("line", "message"),
    [
        ("GRIDDIM", "is no statement"),
        ("GRIDDIM =", "is no statement"),
        ("= 3", "is no statement"),
        ("GRIDDIM = 1 2", "is no statement"),
        ("GRIDDIM = one", "'one' is not a number"),
        ("GRIDDIM = 0x100000000", "does not fit 32 bits"),
        ("GRIDDIM = -1", "does not fit 32 bits"),
        ("GRIDIM = 1", "no method 'GRIDIM'"),
        ("USER_PARAM[64] = 1", "does not exist"),
        ("USER_PARAM[x] = 1", "not an index"),
        ("tesla.GRIDDIM = 1", "tesla object has no method GRIDDIM"),
        ("tesla.GRID DIM = 1", "is not a method"),
        ("object = volta", "no object 'volta'"),
        ("read c16[0]", "c16[] does not exist"),
        ("read VP.g0[0]", "only c[]"),
        ("read c0[0x10000]", "16 bits"),
        ("read s[0]", "is no place"),
        ("read", "is no place"),
        ("read l[0]", "l[] needs a physid"),
        ("read g0[0] 5", "no other space takes one"),
        ("c0[0] = 1", "c[] is read-only"),
        ("vram3[0] = 1", "vram[] has no number"),
        ("push 0 call", "push takes"),
        ("push x call 0", "'x' is not a number"),
        ("push 0 call 0x1000000", "24 bits"),
        ("pop", "pop takes a physid"),
        ("vram[zz] = 1", "not a number"),
        ("GRIDID = 1\npmc = 1", "pmc must come before"),
    ],
)
def test_bad_lines_name_file_line_and_offset(line: str, message: str) -> None:
    with pytest.raises(LoadError) as raised:
        stream.parse(f"# one\n{line}\n".encode(), "m.txt")
    last = 2 + line.count("\n")
    assert f"m.txt at offset 0x{6 + (line.rfind(chr(10)) + 1):x}: line {last}: " in str(
        raised.value
    )
    assert message in str(raised.value)


pieces = st.sampled_from(
    ["LAUNCH", "CB_DATA", "CB_ADDR", "USER_PARAM[3]", "tesla.", "turing.", "0x380", "0x3b8", " = ",
     "=", "0", "1", "0x100", "read ", "c0[", "g14[", "vram[", "]", "\n", "#", "object", "pmc",
     "chipset", "0xa0", "push ", "pop ", " call ", "l[", "GLOBAL_MODE", "VP.", "\u00d7", "\x00",
     "-5", "0x"]
)  # fmt: skip
streams = st.one_of(
    st.binary(max_size=200),
    st.lists(pieces, max_size=60).map(lambda words: "".join(words).encode()),
    st.lists(st.integers(0, 0x7F).map(lambda word: word << 18 | 6 << 13 | 0x238), max_size=20).map(
        lambda words: struct.pack(f"<{len(words)}I", *words)
    ),
)


@given(streams)
@settings(max_examples=200)
def test_any_bytes_parse_or_refuse(data: bytes) -> None:
    try:
        statements = stream.parse(data, "fuzz")
    except LoadError as error:
        if "fuzz" not in str(error):
            raise
        return
    run_all(statements)


offsets = st.sampled_from(sorted(methods.BY_OFFSET["turing"]))
small = st.one_of(st.integers(0, 70), st.integers(0, (1 << 32) - 1), st.just(0x100))


@given(st.lists(st.tuples(offsets, small), max_size=60))
@settings(max_examples=100)
def test_any_method_writes_leave_a_state_that_can_be_shown(writes: list[tuple[int, int]]) -> None:
    run_all([
        stream.Statement("method", f"word {i}", i, "turing", offset, value)
        for i, (offset, value) in enumerate(writes)
    ])  # fmt: skip


def run_all(statements: list[stream.Statement]) -> None:
    """Run and show; only the model's own errors may come out."""
    held = machine()
    try:
        for step in run.run(held, statements, full=True):
            assert run.step_lines(step)
            json.dumps(step)
    except GpudbgError:
        return


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*argv: object) -> tuple[int, str, str]:
        code = run.main([str(word) for word in argv])
        held = capsys.readouterr()
        return code, held.out, held.err

    return call


def test_verb_run(tmp_path: Path, verb: Callable[..., tuple[int, str, str]]) -> None:
    path = tmp_path / "methods.txt"
    path.write_text(STREAM)
    code, out, err = verb("run", path)
    assert (code, err) == (1, ""), "a DATA_ERROR is a finding"
    assert "DATA_ERROR 0x2e CP_NO_BLOCKDIM_LATCH" in out
    assert "state at the end:" in out
    assert "    0     1     3     b    4  0x0c010000" in out
    code, out, _ = verb("run", path, "--json")
    assert code == 1
    assert len(json.loads(out)["steps"]) == 22
    code, out, _ = verb("run", path, "--json", "--stop", "--full")
    assert json.loads(out)["steps"][-1]["state"]["hierarchy"]["tp_count"] == 2


def test_verb_refusals(tmp_path: Path, verb: Callable[..., tuple[int, str, str]]) -> None:
    gap = tmp_path / "gap.txt"
    gap.write_text("0x204 = 7\n")
    bad = tmp_path / "bad.txt"
    bad.write_text("LAUNCH 0\n")
    for argv, code, words in (
        (("run", gap), 4, "gap.txt: line 1: method 0x0204"),
        (("run", bad), 2, "line 1"),
        (("run", tmp_path / "none"), 2, "No such file"),
        (("run", tmp_path), 2, "directory"),
        (("run",), 2, "more argument"),
        (("fly",), 2, "'fly' is none of"),
        (("run", gap, "--chipset", "1"), 2, "Tesla family"),
    ):
        found, _, err = verb(*argv)
        assert found == code, argv
        assert words in err
        assert err.count("\n") == 1


def test_verb_tables(verb: Callable[..., tuple[int, str, str]]) -> None:
    assert "0x1440  0x0380  const    CODE_CB_FLUSH" in verb("methods")[1]
    assert "modelled" in verb("notes")[1]
    assert verb("--help")[0] == 0
