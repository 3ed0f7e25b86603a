"""Launch tables, flags and proposals of kernels with clusters and tensor maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import UsageError
from gpudbg.formats.launch import BufferArg, Launch, TensorArg
from gpudbg.formats.launch_text import parse_arg
from gpudbg.formats.launch_toml import flag_launch, parse_launch
from gpudbg.launch.form import argument_text, form_of, propose
from gpudbg.launch.prepare import prepare
from gpudbg.launch.templates import template

CUBIN = Path(__file__).resolve().parent / "cubin"
TABLE = """
kernel = "gemm"
grid = 2
block = 384
cluster = 2
shared_bytes = 90112
args = ["a=tensor:f16[256,256](box=[128,64],swizzle=128):lcg_real(seed=1, lo=-2, hi=2)",
        {tensor = "b", box = [32, 64], swizzle = "128B"},
        "tensor:c(box=[64,64])", 256]
[buffers.b]
type = "f16"
shape = [64, 256]
init = "lcg_real(seed=2, lo=-2, hi=2)"
[buffers.c]
type = "f16"
shape = [256, 64]
"""


def test_a_product_of_tensor_maps_from_a_launch_table() -> None:
    """Maps of buffers that an argument declares or that the table has."""
    program = gpudbg.load(str(CUBIN / "gemm.cubin"), engine="step")
    session = program.launch_table(parse_launch(TABLE))
    launch = session.launch
    a, b, c = (argument.buffer for argument in launch.arguments[:3])
    assert a is not None
    assert b is not None
    assert c is not None
    assert [argument.name for argument in launch.arguments[:3]] == ["a", "b", "c"]
    assert session.run(max_instructions=100_000).kind == "exited"
    exact = a.array().astype(np.float64) @ b.array().T.astype(np.float64)
    np.testing.assert_allclose(c.array(), exact, rtol=2e-3, atol=1e-2)


def test_a_proposal_says_what_it_does_not_know() -> None:
    """Rank, from the kernel's copies, and cluster are known; the rest is the host's."""
    program = gpudbg.load(str(CUBIN / "gemm.cubin")).program
    kernel = program.kernels["gemm"]
    text = "\n".join(template(program, kernel))
    assert "cluster = [2, 1, 1]   # as it was compiled" in text
    assert "# arg0, arg1, arg2: tensor maps; give shape, box, type and swizzle" in text
    table = parse_launch(text)
    assert [type(arg) for arg in table.args[:3]] == [TensorArg] * 3
    form = form_of(program, kernel, propose(program, kernel))
    assert form.cluster == "2"
    assert form.arguments[0].type == "CUtensorMap"
    # A form is read back as what it was made of.
    again = parse_launch("\n".join(form.toml()))
    assert again.args[:3] == propose(program, kernel).args[:3] == table.args[:3]


def test_a_map_is_written_as_it_is_read() -> None:
    text = "tensor:f16[64,128](box=[16,32],swizzle=64,type=bf16):fill(value=1)"
    read = parse_arg(f"x={text}", 0)
    assert read.buffer is not None
    assert read.arg == TensorArg("x", {"box": [16, 32], "swizzle": 64, "type": "bf16"})
    table = Launch(args=(read.arg,), buffers={"x": read.buffer})
    assert parse_arg(f"x={argument_text(read.arg, table)}", 0) == read


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["tensor:f16[64,64](boxes=[8,8])"], "a tensor map has no option 'boxes'"),
        (["tensor:y(box=[8,8])"], "argument names 'y', which is not declared"),
        (["tensor:x(box=[8,8]):zeros"], "buffer 'x' has its contents already"),
    ],
)
def test_what_is_no_map_is_refused_by_name(flags: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=r"tensor|argument|buffer") as error:
        flag_launch(args=flags)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("arg", "message"),
    [
        ("tensor:f16[256,256](box=[128])", "box has 1 numbers; the tensor has 2 axes"),
        ("tensor:f16[256,256](swizzle=128)", "box is missing"),
        ("tensor:f16[256,250](box=[128,64])", "tensor map: "),
        ("f16[256,256]", "has 8 bytes, expected 128"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(arg: str, message: str) -> None:
    program = gpudbg.load(str(CUBIN / "gemm.cubin"))
    rest = [f"tensor:f16[64,64](box=[8,8]){n}" for n in ("", "")]
    table = flag_launch(kernel="gemm", grid="2", block="384", args=[arg, *rest, "64"])
    assert any(isinstance(a, BufferArg | TensorArg) for a in table.args)
    with pytest.raises(UsageError) as error:
        prepare(program, table)
    assert message in str(error.value)


def test_special_registers_are_read_by_the_names_that_listings_print() -> None:
    """Those of a later architecture, too: the rank of a block in its cluster."""
    session = gpudbg.assemble_program(".arch sm_90\n.kernel k\nS2R R0, SR_CgaCtaId\nEXIT\n").launch(
        "k", grid=2, block=32, args=[], cluster=2
    )
    session.command("sm 1")
    assert session.command("print SR_CgaCtaId").text.endswith("= 1")
    assert session.command("print SR_TID.X").text.endswith("= 0")
    with pytest.raises(gpudbg.CommandError, match="No symbol"):
        session.command("print SR_CgaSize")
