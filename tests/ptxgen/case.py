"""PTX instruction variants as data: operands, expectation, and the kernel that runs one variant.

A variant is one instruction form executed by N threads: each loads its operands, executes the
instruction once and stores the results.  `build.py` turns variants into PTX, cubins and a manifest
in the format that `runner.py` reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class In:
    """An operand: PTX register type ("f32", "b16", "u8", "pred") and one pattern a thread.

    A "pred" operand is loaded as u32 and compared with zero.  `param` passes one scalar instead.
    """

    type: str
    values: np.ndarray
    param: bool = False


@dataclass(frozen=True, slots=True)
class Out:
    """A result: PTX register type, expected patterns and how they are compared.

    `compare` is "exact", "nan_any" (with `float`: f16 f16x2 f32 f64) or "range" (with `high`:
    values is the lower limit), or "multiset".  `where` selects the elements that the PTX text
    defines.  `before` is what the buffer holds at the launch, if not a fill byte.
    """

    type: str
    values: np.ndarray
    compare: str = "exact"
    float: str = ""
    high: np.ndarray | None = None
    zero_any: bool = False
    where: np.ndarray | None = None
    before: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One instruction form: `ptx` names operands %a %b .. and results %d %p .. by key.

    `text` replaces the generated kernel; its parameters are the inputs' and outputs' buffers
    `p_a`, ... and `extra` then gives grid, block and shared.  `header` is for the module.  With
    `language` "cuda" the text is C++ and `ptx` only says what it does.
    """

    group: str
    name: str
    ptx: str
    inputs: dict[str, In]
    outputs: dict[str, Out]
    targets: tuple[str, ...] = ("sm_50",)
    note: str = ""
    setup: str = ""
    bound: str = ""
    extra: dict[str, object] = field(default_factory=dict)
    text: str = ""
    header: str = ""
    language: str = "ptx"

    @property
    def entry(self) -> str:
        """Kernel name."""
        return "t_" + re.sub(r"\W+", "_", self.name)

    @property
    def count(self) -> int:
        """Threads: the length of the operand arrays."""
        return next(len(x.values) for x in (*self.outputs.values(),))


def width(type_: str) -> int:
    """Bytes a register type occupies in memory; predicates are stored as u32."""
    if type_ == "pred":
        return 4
    found = re.search(r"(f16x2|\d+)$", type_)
    assert found, type_
    return 4 if found[1] == "f16x2" else SIZES[found[1]]


def _memory_type(type_: str) -> str:
    """The type of the load or store."""
    if type_ == "pred":
        return "u32"
    if type_.endswith("f16x2"):
        return "b32"
    return "b16" if type_ == "f16" else type_


def _register_type(type_: str) -> str:
    """8-bit values live in 16-bit registers, halves in untyped ones."""
    if type_ in ("u8", "s8", "b8"):
        return type_[0] + "16"
    return "pred" if type_ == "pred" else _memory_type(type_)


def kernel(variant: Variant) -> str:
    """PTX text of the variant's kernel."""
    if variant.text:
        return variant.text
    names = [*variant.inputs, *variant.outputs]
    params = []
    for n in names:
        scalar = n in variant.inputs and variant.inputs[n].param
        params.append(f".param .{_memory_type(variant.inputs[n].type) if scalar else 'u64'} p_{n}")
    lines = [
        f".visible .entry {variant.entry}({','.join(params)})",
        "{",
        ".reg .u32 %i,%t0,%t1,%t2;",
    ]
    for n in names:
        type_ = (variant.inputs.get(n) or variant.outputs[n]).type
        lines.append(f".reg .{_register_type(type_)} %{n}; .reg .u64 %q_{n};")
        if type_ == "pred":
            lines.append(f".reg .u32 %x_{n};")
    lines.append("mov.u32 %t0,%ctaid.x; mov.u32 %t1,%ntid.x; mov.u32 %t2,%tid.x;")
    lines.append("mad.lo.u32 %i,%t0,%t1,%t2;")
    for n, operand in variant.inputs.items():
        memory, target = _memory_type(operand.type), f"%{'x_' if operand.type == 'pred' else ''}{n}"
        if operand.param:
            lines.append(f"ld.param.{memory} {target},[p_{n}];")
        else:
            lines.append(
                f"ld.param.u64 %q_{n},[p_{n}]; mad.wide.u32 %q_{n},%i,{width(operand.type)},%q_{n};"
            )
            lines.append(f"ld.global.{memory} {target},[%q_{n}];")
        if operand.type == "pred":
            lines.append(f"setp.ne.u32 %{n},%x_{n},0;")
    if variant.setup:
        lines.append(variant.setup)
    lines.append(variant.ptx)
    for n, result in variant.outputs.items():
        memory, source = _memory_type(result.type), f"%{'x_' if result.type == 'pred' else ''}{n}"
        if result.type == "pred":
            lines.append(f"selp.u32 %x_{n},1,0,%{n};")
        lines.append(
            f"ld.param.u64 %q_{n},[p_{n}]; mad.wide.u32 %q_{n},%i,{width(result.type)},%q_{n};"
        )
        lines.append(f"st.global.{memory} [%q_{n}],{source};")
    return "\n".join([*lines, "ret;", "}"])


def module(variants: list[Variant], target: str) -> str:
    """A PTX module of several kernels."""
    version = "8.7" if int(re.sub(r"\D", "", target)) >= 70 else "8.0"
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    head += "".join(dict.fromkeys(v.header + "\n" for v in variants if v.header))
    return head + "\n".join(kernel(v) for v in variants) + "\n"
