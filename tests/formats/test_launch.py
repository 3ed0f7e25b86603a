"""The launch table: text, TOML, Python arguments, binding to a kernel, and bad input."""

from __future__ import annotations

import dataclasses
import inspect
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg import options
from gpudbg.device.device import EmulatedDevice
from gpudbg.errors import GpudbgError, LoadError, UsageError
from gpudbg.formats import initdata, launch, launch_text, launch_toml
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.launch import RawSpec, SmSpec
from gpudbg.formats.launch_toml import parse_launch
from gpudbg.formats.program import Kernel
from gpudbg.launch.flags import launch_parser
from tests.kernel_cases import KERNELS


@pytest.fixture(scope="module")
def saxpy() -> Kernel:
    """Kernel saxpy(int n, float a, const float *x, float *y)."""
    return read_cubin(KERNELS / "cubin/sm_50/saxpy.cubin").kernels["saxpy"]


# ---- init rules --------------------------------------------------------------------------


def reference_lcg(seed: int, count: int) -> list[int]:
    """The generator as its description reads."""
    out, x = [], seed & 0xFFFFFFFF
    for _ in range(count):
        x = (1664525 * x + 1013904223) % 2**32
        out.append(x ^ (x >> 16))
    return out


@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_generator_equals_its_recurrence(seed: int, count: int) -> None:
    assert initdata.lcg(seed, count).tolist() == reference_lcg(seed, count)


def test_rules_by_hand() -> None:
    def make(dtype: str, count: int, text: str) -> list[object]:
        return list(initdata.make_array(dtype, count, launch_text.parse_rule(text)).tolist())

    words = reference_lcg(5, 4)
    assert make("u32", 3, "zeros") == [0, 0, 0]
    assert make("i8", 3, "fill(-1)") == [-1, -1, -1]
    assert make("u8", 3, "fill(-1)") == [255, 255, 255]
    assert make("i32", 4, "arange(10, -3)") == [10, 7, 4, 1]
    assert make("f64", 5, "values(1, 2.5)") == [1, 2.5, 1, 2.5, 1]
    assert make("u16", 3, "hex(01020304)") == [0x0201, 0x0403, 0x0201]
    assert make("u16", 2, "lcg(5)") == [w & 0xFFFF for w in words[:2]]
    assert make("u64", 2, "lcg(5)") == [words[0] << 32 | words[1], words[2] << 32 | words[3]]
    assert make("i32", 2, "lcg_mod(seed=5, mod=100, lo=-7)") == [w % 100 - 7 for w in words[:2]]
    want = [-4 + 8 * ((w >> 8) / 2**24) for w in words[:2]]
    assert make("f64", 2, "lcg_real(5, -4, 4)") == want


def test_pointers_point_into_the_named_buffer() -> None:
    init = launch_text.parse_rule("pointers(nodes, 0, 16)")
    array = initdata.make_array("u64", 3, init, {"nodes": 0x7000})
    assert array.tolist() == [0x7000, 0x7010, 0x7000]
    with pytest.raises(UsageError, match="no buffer 'nodes'"):
        initdata.make_array("u64", 3, init, {"other": 0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lcg_reel(seed=1)", "unknown init rule 'lcg_reel'.*did you mean 'lcg_real'"),
        ("lcg", "needs seed"),
        ("lcg(sed=1)", "no option 'sed'.*did you mean 'seed'"),
        ("fill(x)", "'x' is no number"),
        ("arange(1,2,3)", "takes 2 options"),
        ("fill(1", "cannot read init rule"),
    ],
)
def test_rule_mistakes(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        launch_text.parse_rule(text)


def test_values_that_do_not_fit_are_usage_errors() -> None:
    for dtype, rule in (("u8", "values(300)"), ("i32", "lcg_mod(1, 0)"), ("u32", "hex(0)")):
        with pytest.raises(UsageError, match="init rule"):
            initdata.make_array(dtype, 4, launch_text.parse_rule(rule))
    with pytest.raises(UsageError, match="out of range"):
        initdata.make_array("f64", 1 << 60, launch_text.parse_rule("zeros"))


def test_contents_from_files(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", values)
    (tmp_path / "x.bin").write_bytes(values.tobytes())
    whole = launch_text.parse_buffer("x", "@x.npy", str(tmp_path))
    assert (whole.dtype, whole.shape) == ("f32", (2, 3))
    raw = launch_text.parse_buffer("x", "f32[]@x.bin", str(tmp_path))
    for spec in (whole, raw, launch_text.parse_buffer("x", "f32[6]@x.npy", str(tmp_path))):
        assert initdata.make_array(spec.dtype, spec.count, spec.init).tolist() == [0, 1, 2, 3, 4, 5]
    short = launch_text.parse_buffer("x", "f32[5]@x.npy", str(tmp_path))
    with pytest.raises(LoadError, match=r"x\.npy: holds 6 elements, the buffer has 5"):
        initdata.make_array(short.dtype, short.count, short.init)
    with pytest.raises(LoadError, match="cannot be read"):
        launch_text.parse_buffer("x", "@missing.npy", str(tmp_path))
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
    with pytest.raises(LoadError, match=r"bad\.npy"):
        launch_text.parse_buffer("x", "@bad.npy", str(tmp_path))


@pytest.mark.parametrize(
    ("dtype", "rule", "options", "why"),
    [
        ("i32", "fill", {"value": 3.7}, "3.7 is no integer, as i32 needs"),
        ("u8", "fill", {"value": 300}, "300 does not fit in 8 bits"),
        ("i32", "fill", {"value": 1 << 32}, "does not fit in 32 bits"),
        ("i64", "values", {"values": [1, 1.5]}, "1.5 is no integer"),
        ("i16", "values", {"values": [1, float("nan")]}, "NaN"),
        ("u32", "arange", {"step": 0.5}, "0.5 is no integer"),
        ("f32", "fill", {"value": 1e39}, "too large"),
        ("f16", "arange", {"step": 1e5}, "too large"),
        ("i32", "lcg_mod", {"seed": 1, "mod": 10, "lo": 0.5}, "0.5 is no integer"),
        ("u8", "lcg_mod", {"seed": 1, "mod": 1000}, "999 does not fit"),
    ],
)
def test_numbers_that_a_type_cannot_hold(dtype: str, rule: str, options: Any, why: str) -> None:
    """Refused by the buffer's name: nothing is cut off or rounded to an integer."""
    with pytest.raises(UsageError, match=f"buffer x: init rule '{rule}' for {dtype}.*{why}"):
        initdata.make_array(dtype, 4, initdata.make_init(rule, options), whose="x")


def test_numbers_that_a_type_holds() -> None:
    def made(dtype: str, rule: str, count: int = 4, **options: Any) -> list[Any]:
        init = initdata.make_init(rule, options)
        return list(initdata.make_array(dtype, count, init).tolist())

    assert made("i32", "fill", 1, value=0xFFFFFFFF) == [-1]
    assert made("u8", "values", 2, values=[-1, 2.0]) == [255, 2]
    assert made("u8", "arange", start=254) == [254, 255, 0, 1]
    assert made("u64", "arange", 2, start=(1 << 64) - 1, step=-1) == [(1 << 64) - 1, (1 << 64) - 2]
    assert made("f32", "arange", 3, start=0.5, step=0.25) == [0.5, 0.75, 1.0]
    assert made("f64", "values", 2, values=[float("inf"), 1]) == [float("inf"), 1.0]
    assert made("i32", "arange", 0) == []


# ---- argument text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size", "want"),
    [
        ("i32:-5", 4, struct.pack("<i", -5)),
        ("i32:0xffffffff", 4, b"\xff" * 4),
        ("u64:0x123456789", 8, struct.pack("<Q", 0x123456789)),
        ("f32:2.5", 4, struct.pack("<f", 2.5)),
        ("f16:1", 2, struct.pack("<e", 1)),
        ("f64:-inf", 8, struct.pack("<d", float("-inf"))),
        ("7", 4, struct.pack("<i", 7)),
        ("7", 8, struct.pack("<q", 7)),
        ("2.5", 4, struct.pack("<f", 2.5)),
        ("hex:00ff10", 3, b"\x00\xff\x10"),
    ],
)
def test_scalars_encode(text: str, size: int, want: bytes) -> None:
    arg = launch_text.parse_arg(text, 0).arg
    assert launch.encode(arg, size, {}) == want


def test_buffers_references_and_images() -> None:
    texts = [
        "x=f32[10,20]:fill(3)",
        "i32[4]",
        "x+16",
        "img=texture.2d:f32[64,32](filter=linear,normalized=true,channels=4):lcg(1)",
        "img",
    ]
    args, buffers, images = launch_text.parse_args(texts)
    assert buffers["x"].shape == (10, 20)
    assert buffers["x"].init.options == {"value": 3}
    assert buffers["arg1"].count == 4
    assert args[2] == launch.BufferArg("x", 16)
    assert args[3] == args[4] == launch.ImageArg("img")
    assert images["img"].count == 64 * 32 * 4
    assert images["img"].options == {"filter": "linear", "normalized": True, "channels": 4}


@pytest.mark.parametrize(
    "text",
    [
        "", "f32:", "f32:abc", "i32:2.5", "i8:300", "f16:1e30", "x=f32[-1]", "f32[3]:",
        "f32[3]@", "x=3:4", "hex:0", "f33[3]", "texture.4d:f32[1]", "surface.2d:u32[3]",
        "surface.2d:u32[3,3](layout=zigzag)", "texture.1d:f32[3](filtre=point)", "f32[1e3]",
        "x+1.5", "f32[9999999999999]:zeros", "&", "x=", "f32[", "a b",
    ],
)  # fmt: skip
def test_argument_mistakes(text: str) -> None:
    with pytest.raises(UsageError):
        launch_text.parse_args([text])


def test_two_arguments_of_one_name() -> None:
    with pytest.raises(UsageError, match="two arguments are named 'x'"):
        launch_text.parse_args(["x=f32[1]", "x=f32[2]"])


def test_outputs_and_dimensions() -> None:
    assert launch_text.parse_output("y[4:16]/x") == launch.OutputSpec("y", 4, 16, "x")
    assert launch_text.parse_output("y") == launch.OutputSpec("y")
    assert launch_text.parse_dim3("8x4", "grid") == (8, 4, 1)
    assert launch_text.parse_dim3("7", "grid") == (7, 1, 1)
    for bad in ("", "0", "1,2,3,4", "a", "1.5", "-1"):
        with pytest.raises(UsageError, match="grid"):
            launch_text.parse_dim3(bad, "grid")


@settings(max_examples=300)
@given(st.text(alphabet="xf32iu:=[]@(),.+-0&hexlcg \n\0é", max_size=30))
def test_any_text_is_an_argument_or_a_usage_error(text: str) -> None:
    with suppress(GpudbgError):
        launch_text.parse_args([text])


# ---- binding -----------------------------------------------------------------------------


def test_binding_fills_the_parameter_block(saxpy: Kernel) -> None:
    args, _, _ = launch_text.parse_args(["i32:1000", "f32:1.75", "x=f32[4]", "y=f32[4]"])
    block = launch.param_block(saxpy, launch.bind(saxpy, args), {"x": 0x1000, "y": 0x2000})
    assert block == struct.pack("<ifQQ", 1000, 1.75, 0x1000, 0x2000)


def test_binding_pads_to_natural_alignment() -> None:
    daxpy = read_cubin(KERNELS / "cubin/sm_50/saxpy.cubin").kernels["daxpy"]
    args = launch.python_launch("daxpy", 1, 32, [np.int32(7), np.float64(0.5)]).args
    args += (launch.ObjectArg(1), launch.ObjectArg(2))
    assert launch.param_block(daxpy, launch.bind(daxpy, args)) == struct.pack(
        "<i4xdQQ", 7, 0.5, 1, 2
    )


def test_arguments_that_do_not_fit(saxpy: Kernel) -> None:
    def bound(*texts: str) -> None:
        launch.bind(saxpy, launch_text.parse_args(texts)[0])

    takes = r"kernel saxpy takes 4 parameters \(4, 4, 8, 8 bytes\)"
    with pytest.raises(UsageError, match=takes + "; argument 1 'f64' has 8 bytes, expected 4"):
        bound("i32:1", "f64:2", "x=f32[1]", "x")
    with pytest.raises(UsageError, match=takes + "; 1 argument is given"):
        bound("i32:1")
    with pytest.raises(UsageError, match=takes + "; no argument is given"):
        bound()
    with pytest.raises(UsageError, match=takes + r"; argument 0 \(address of buffer 'x'\) has 8"):
        bound("x=f32[1]", "f32:1", "x", "x")
    large = launch.bind(saxpy, launch_text.parse_args(["300000000000", "1.5", "x=f32[1]", "x"])[0])
    with pytest.raises(UsageError, match="300000000000 does not fit i32"):
        launch.param_block(saxpy, large, {"x": 0})
    args = launch_text.parse_args(["1", "1.5", "x=f32[1]", "x"])[0]
    with pytest.raises(UsageError, match="no buffer, texture or surface named 'x'"):
        launch.param_block(saxpy, launch.bind(saxpy, args), {})


def test_python_arguments() -> None:
    class Handle:
        handle = 0x500

    array = np.arange(6, dtype=">i2").reshape(2, 3)
    made = launch.python_launch(
        None, (2, 3), 64, [np.float32(1), array, b"abc", True, 1.5, Handle(), np.complex64(1j)], 128
    )
    assert made.grid == (2, 3, 1)
    assert made.block == (64, 1, 1)
    assert made.args[0] == launch.ScalarArg("f32", 1.0)
    spec = made.buffers["arg1"]
    assert (spec.dtype, spec.shape) == ("i16", (2, 3))
    assert initdata.make_array(spec.dtype, spec.count, spec.init).tolist() == [0, 1, 2, 3, 4, 5]
    assert [a.size for a in made.args] == [4, 8, 3, None, None, 8, 8]
    with pytest.raises(UsageError, match="argument 0 is a list"):
        launch.python_launch(None, 1, 1, [[1, 2]])
    for bad in (0, -1, (1, 2, 3, 4), "3", 1.5, (), None, True + 0.5):
        with pytest.raises(UsageError, match="grid"):
            launch.python_launch(None, bad, 1)


def test_geometry_limits(saxpy: Kernel) -> None:
    launch.check_geometry(saxpy, (2**31 - 1, 65535, 65535), (1024, 1, 1), 48 * 1024)
    for grid, block, shared, message in (
        ((1, 65536, 1), (1, 1, 1), 0, "grid.y is 65536"),
        ((1, 1, 1), (1, 1, 65), 0, "block.z is 65"),
        ((1, 1, 1), (64, 32, 1), 0, "block of 2048 threads"),
        ((1, 1, 1), (1, 1, 1), 48 * 1024 + 1, "dynamic bytes of shared memory"),
    ):
        with pytest.raises(UsageError, match=message):
            launch.check_geometry(saxpy, grid, block, shared)


def test_kernel_choice() -> None:
    program = read_cubin(KERNELS / "cubin/sm_50/saxpy.cubin")
    assert launch.pick_kernel(program, "daxpy").name == "daxpy"
    with pytest.raises(UsageError, match="2 kernels; name one of: daxpy, saxpy"):
        launch.pick_kernel(program, None)
    with pytest.raises(UsageError, match=r"no kernel 'saxp'.*it has: daxpy, saxpy"):
        launch.pick_kernel(program, "saxp")


# ---- TOML --------------------------------------------------------------------------------

TABLE = """\
kernel = "saxpy"
grid = 4
block = [64, 1]
args = ["i32:1000", {type = "f32", value = 1.75}, "x", {buffer = "y", offset = 4}]
outputs = ["y[0:8]"]

[buffers.x]
type = "f32"
count = 1000
init = "lcg_real(seed=11, lo=-4, hi=4)"

[buffers]
y = "f32[10,20]:fill(1)"

[symbols.coef]
type = "f32"
count = 2
init = {rule = "values", values = [1, 2]}

[sm]
arch = "sm_52"
num_sms = 3

[raw]
num_regs = 20
params = [4, 4, 8, 8]
"""


def test_toml_values() -> None:
    table = launch_toml.parse_launch(TABLE)
    assert (table.kernel, table.grid, table.block) == ("saxpy", (4, 1, 1), (64, 1, 1))
    assert table.args[1] == launch.ScalarArg("f32", 1.75)
    assert table.args[3] == launch.BufferArg("y", 4)
    assert table.buffers["x"].init.options == {"seed": 11, "lo": -4, "hi": 4}
    assert table.buffers["y"].shape == (10, 20)
    assert table.symbols["coef"].init.options == {"values": [1, 2]}
    assert table.sm == launch.SmSpec("sm_52", 3)
    assert table.raw == launch.RawSpec(num_regs=20, params=(4, 4, 8, 8))
    assert table.outputs == (launch.OutputSpec("y", 0, 8),)
    launch_toml.check_names(table)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("grid = 4", "gird = 4", "prog.toml:2: unknown key 'gird'.*did you mean 'grid'"),
        ("count = 1000", "cuont = 1000", "prog.toml:9: unknown key 'cuont' in .buffers.x."),
        ("num_sms = 3", "num_sms = 0", "prog.toml:22: 'num_sms' is 0, must be 1 to"),
        ("num_sms = 3", 'num_sms = "3"', "prog.toml:22: 'num_sms' must be an integer"),
        ('"sm_52"', '"sm_35"', "prog.toml:21: unknown arch 'sm_35'"),
        ('"i32:1000"', '"i32:1x"', "prog.toml:4: '1x' is no number"),
        ("block = [64, 1]", "block = [64, 0]", "prog.toml:3: block dimensions must be at least 1"),
        ("grid = 4", "grid = ", "prog.toml:2: not TOML: Invalid value"),
        ("lcg_real(seed=11", "lcg_real(sed=11", "prog.toml:7: .*no option 'sed'"),
        ('"y[0:8]"', '"y[0:8"', "prog.toml:5: cannot read output"),
        ("params = [4, 4, 8, 8]", "params = 4", "prog.toml:26: 'params' must list"),
        ('type = "f32"\ncount = 1000', 'type = "f31"\ncount = 1000', "prog.toml:7: unknown type"),
    ],
)
def test_toml_mistakes_name_the_line(old: str, new: str, message: str) -> None:
    assert old in TABLE
    with pytest.raises(UsageError, match=message):
        launch_toml.parse_launch(TABLE.replace(old, new, 1), "prog.toml")


def test_toml_file_beside_a_program(tmp_path: Path) -> None:
    (tmp_path / "prog.bin").write_bytes(bytes(32))
    assert launch_toml.beside(tmp_path / "prog.bin") is None
    np.save(tmp_path / "y.npy", np.zeros(3, np.uint16))
    (tmp_path / "prog.toml").write_text('args = ["y"]\n[buffers.y]\nfile = "y.npy"\n')
    found = launch_toml.beside(tmp_path / "prog.bin")
    assert found is not None
    table = launch_toml.read_launch(found)
    assert (table.buffers["y"].dtype, table.buffers["y"].shape) == ("u16", (3,))
    with pytest.raises(LoadError, match=r"nothing\.toml: cannot be read"):
        launch_toml.read_launch(tmp_path / "nothing.toml")
    (tmp_path / "prog.toml").write_bytes(b"kernel = '\xff'")
    with pytest.raises(LoadError, match="no UTF-8"):
        launch_toml.read_launch(tmp_path / "prog.toml")


def test_flags_win_over_the_table() -> None:
    base = launch_toml.parse_launch('kernel="a"\ngrid=4\nargs=["x"]\n[buffers]\n[buffers.x]\n'
                                    'type="f32"\ncount=3\n[sm]\nseed=5')  # fmt: skip
    table = launch_toml.flag_launch(
        base, grid="2,2", args=["i32:3", "x"], sm=launch.SmSpec(num_sms=2), symbols=["k=i32:5"]
    )
    assert (table.kernel, table.grid) == ("a", (2, 2, 1))
    assert table.args == (launch.ScalarArg("i32", 3), launch.BufferArg("x"))
    assert table.sm == launch.SmSpec(num_sms=2, seed=5)
    assert table.symbols["k"].count == 1
    launch_toml.check_names(table)
    with pytest.raises(UsageError, match="argument names 'z'"):
        launch_toml.flag_launch(base, args=["z"])
    with pytest.raises(UsageError, match=r"output names 'xx'.*did you mean 'x'"):
        launch_toml.flag_launch(base, outputs=["xx"])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"args": ["arg1=abc"]}, "--arg arg1=abc: argument names 'abc', which is not declared"),
        ({"args": ["abc"]}, "--arg abc: argument names 'abc'"),
        ({"args": ["i32:zz"]}, "--arg i32:zz: 'zz' is no number"),
        ({"args": ["x=i32:zz"]}, "--arg x=i32:zz: 'zz' is no number"),
        ({"args": ["m=7"], "parameters": ["x", "n"]}, "--arg m=7: no argument is called 'm'"),
        ({"args": ["m=@/none.npy"]}, "--arg m=@/none.npy: /none.npy: cannot be read"),
        ({"grid": "1,x"}, "--grid 1,x: grid '1,x' is not up to three integers"),
        ({"block": "0"}, "--block 0: block dimensions must be at least 1"),
        ({"symbols": ["k"]}, "--symbol k: cannot read symbol 'k'"),
        ({"symbols": ["k=f32:zz"]}, "--symbol k=f32:zz: 'zz' is no number"),
        ({"outputs": ["a[["]}, "--output a[[: cannot read output"),
        ({"outputs": ["xx"]}, "--output xx: output names 'xx'"),
    ],
)
def test_errors_of_a_flag_name_it(flags: dict[str, Any], said: str) -> None:
    """Not the launch table, whose file is innocent."""
    base = launch_toml.parse_launch('args=["x", 3]\n[buffers.x]\ntype="f32"\ncount=3')
    with pytest.raises(GpudbgError) as error:
        launch_toml.flag_launch(base, **flags)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--shared=-5", "argument --shared: -5 is not at least 0"),
        ("--num-sms=0", "argument --num-sms: 0 is not between 1 and 511"),
        ("--heap=-1", "argument --heap: -1 is not at least 0"),
        ("--stack=x", "argument --stack: 'x' is not a whole number"),
        ("--seed=-1", "argument --seed: -1 is not at least 0"),
        ("--jobs=0", "argument --jobs: 0 is not between 1 and 256"),
    ],
)
def test_numbers_out_of_range_name_their_flag(flag: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        launch_parser().parse_args([flag])


NAMED = launch_toml.parse_launch(
    'args=["src", "dst+8", "i32:3"]\n[buffers.src]\ntype="f32"\ncount=3\n'
    '[buffers.dst]\ntype="f32"\ncount=3\n'
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["n=7"], (*NAMED.args[:2], launch.ScalarArg("int", 7))),
        (["n=1", "n=i32:9"], (*NAMED.args[:2], launch.ScalarArg("i32", 9))),
        (["arg2=f32:2.5"], (*NAMED.args[:2], launch.ScalarArg("f32", 2.5))),
        (["from=dst"], (launch.BufferArg("dst"), *NAMED.args[1:])),
        (["dst=0"], (NAMED.args[0], launch.ScalarArg("int", 0), NAMED.args[2])),
        (["src=u8[5]", "n=2"], (NAMED.args[0], NAMED.args[1], launch.ScalarArg("int", 2))),
        (["dst", "4"], (launch.BufferArg("dst"), launch.ScalarArg("int", 4))),
        (["a=u8[1]", "b=u8[1]", "c=u8[1]"], tuple(launch.BufferArg(n) for n in "abc")),
    ],
)  # fmt: skip
def test_arguments_by_name_replace_those_alone(given: list[str], expected: tuple[Any, ...]) -> None:
    table = launch_toml.flag_launch(NAMED, args=given, parameters=["from", "to", "n"])
    assert table.args == expected
    if given[0].startswith("src="):
        assert (table.buffers["src"].dtype, table.buffers["src"].count) == ("u8", 5)
        assert table.buffers["dst"] == NAMED.buffers["dst"]


def test_arguments_by_name_that_are_none() -> None:
    with pytest.raises(UsageError, match=r"no argument is called 'm' \(known: from, to, n\)"):
        launch_toml.flag_launch(NAMED, args=["m=7"], parameters=["from", "to", "n"])
    with pytest.raises(UsageError, match=r"no argument is called 'fron' .*did you mean 'from'"):
        launch_toml.flag_launch(NAMED, args=["fron=7"], parameters=["from", "to", "n"])
    with pytest.raises(UsageError, match="2 arguments are not given: from, to"):
        launch_toml.flag_launch(args=["n=7"], parameters=["from", "to", "n"])
    # Before the program is read nothing is known of `m`: it waits.
    assert launch_toml.flag_launch(NAMED, args=["m=7"]).args == NAMED.args


@settings(max_examples=200)
@given(st.data())
def test_any_mutated_table_is_a_launch_or_a_gpudbg_error(data: st.DataObject) -> None:
    lines = TABLE.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut = data.draw(st.integers(0, len(line)))
        junk = data.draw(
            st.sampled_from(["", "[", "]", "=", "1", "-", '"', "{}", "[[x]]", ".", "nan"])
        )
        lines[at] = line[:cut] + junk + line[cut + data.draw(st.integers(0, 3)) :]
    with suppress(GpudbgError):
        launch_toml.parse_launch("\n".join(lines), "prog.toml")


def test_the_option_table_is_the_only_one() -> None:
    """Flags, launch-table keys, keywords and settings come from the rows of `gpudbg.options`."""
    flags = {name: action for action in launch_parser()._actions for name in action.option_strings}
    for row in options.FLAGS:
        action = flags[f"--{row.flag}"]
        assert action.help == row.help
        assert action.dest == row.dest
        if row.kind is options.OptionKind.WHOLE:
            with pytest.raises(UsageError, match=f"--{row.flag}"):
                launch_parser().parse_args([f"--{row.flag}", str(row.least - 1)])
    keywords = inspect.signature(EmulatedDevice).parameters
    machine = {row.name for row in options.FLAGS if row.scope is not options.OptionScope.LAUNCH}
    assert machine == set(keywords)
    assert set(options.keys("sm")) == {f.name for f in dataclasses.fields(SmSpec)}
    assert set(options.keys("raw")) == {f.name for f in dataclasses.fields(RawSpec)}


@pytest.mark.parametrize("row", [r for r in options.FLAGS if r.most < options.MAX_INTEGER])
def test_one_range_for_keyword_flag_and_launch_table(row: options.OptionSpec) -> None:
    """A number beyond the range is refused however it is given; its last number is taken."""
    beyond: dict[str, Any] = {row.name: row.most + 1}
    with pytest.raises(UsageError, match=row.name):
        EmulatedDevice(**beyond)
    if row.table is not None:
        with pytest.raises(UsageError, match=f"must be {row.least} to {row.most}"):
            parse_launch(f"[{row.table}]\n{row.name} = {row.most + 1}")
        parse_launch(f"[{row.table}]\n{row.name} = {row.most}")
    with pytest.raises(UsageError, match=f"between {row.least} and {row.most}"):
        launch_parser().parse_args([f"--{row.flag}", str(row.most + 1)])


def test_an_output_names_an_argument_before_the_program_is_known() -> None:
    table = launch_toml.flag_launch(None, args=["out=i32[4]"], outputs=["out"])
    assert [output.buffer for output in table.outputs] == ["out"]
    with pytest.raises(UsageError, match="--output ou: output names 'ou'"):
        launch_toml.flag_launch(None, args=["out=i32[4]"], outputs=["ou"])
    with pytest.raises(UsageError, match="--output ou: output names 'ou'"):
        launch_toml.flag_launch(None, args=["out=i32[4]"], outputs=["ou"], parameters=["out"])
