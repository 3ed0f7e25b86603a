"""What the driver for Triton does beside Triton: arguments, lines, the limits that it tells."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import gpudbg
from gpudbg.interop.driver_of_triton import TritonDriver, flattened, with_lines

PLAIN = SimpleNamespace()


def test_arguments_become_the_parameters_that_are_left() -> None:
    kinds = ("*fp32", "constexpr", "i32", "i1", "bf16", ("fp16", ("i64", "constexpr")), "*i8")
    values = ("x", 5, 7, True, 1.5, (0.5, (9, 3)), None)
    made = [w for k, v in zip(kinds, values, strict=True) for w in flattened(k, v, "a", PLAIN)]
    assert made == ["x", 7, 1, 0x3FC0, 0.5, 9, 0]
    assert [type(w) for w in made[1:]] == [
        np.int32, np.int8, np.uint16, np.float16, np.int64, np.uint64,
    ]  # fmt: skip


def test_a_tensor_descriptor_without_tensor_maps_is_taken_apart() -> None:
    tensor = SimpleNamespace(base="x", shape=[4, 8], strides=[8, 1], padding="nan")
    made = list(flattened("tensordesc<fp16[4, 8]>", tensor, "t", PLAIN))
    assert made == ["x", 4, 8, 8, 1, 1, 4, 8, 8, 1]
    with pytest.raises(gpudbg.UsageError, match="t, of Triton's type nvTmaDesc"):
        list(flattened("nvTmaDesc", tensor, "t", PLAIN))


def test_lines_of_inline_assembly_are_those_before_it() -> None:
    text = (
        "\t.loc\t1 13 9\n\t// begin inline asm\n\t.loc\t1 13 9\n\tmov.u32 %r1, 0x0;\n"
        "\t.loc\t1 14 9\n\tld.global.b32 %r1, [%rd1];\n\n\t// end inline asm\n\t.loc\t1 20 5\n"
    )
    assert with_lines(text) == (
        "\t.loc\t1 13 9\n\t// begin inline asm\n\tmov.u32 %r1, 0x0;\n"
        "\tld.global.b32 %r1, [%rd1];\n\n\t// end inline asm\n\t.loc\t1 20 5\n"
    )


def test_each_driver_is_a_device_of_its_own() -> None:
    one, other = (TritonDriver(gpudbg.Device(arch)) for arch in ("sm_75", "sm_90"))
    assert one.get_current_device() != other.get_current_device()
    shared = [d.utils.get_device_properties(0)["max_shared_mem"] for d in (one, other)]
    assert shared == [65536, 232448]


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("triton", "numba"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    with pytest.raises(gpudbg.UsageError, match="pip install triton"):
        gpudbg.triton(lambda: None)
    with pytest.raises(gpudbg.UsageError, match="pip install numba-cuda"):
        gpudbg.numba(lambda: None)[1, 32]()
