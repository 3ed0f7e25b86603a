"""A launch as texts to fill in: kernel, grid, block, shared memory, one text an argument.

`propose` makes a launch of a kernel that nobody described: every pointer gets a buffer with an
element for each thread, integers are taken for element counts.  `form_of` writes any launch as
texts in the words of the launch flags, and `LaunchForm.flags` is the way back.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from gpudbg.answers.words import significant
from gpudbg.dataclass import dataclass
from gpudbg.formats.initdata import LIST_OPTIONS, Init
from gpudbg.formats.launch import (
    Arg,
    BufferArg,
    BufferSpec,
    ImageArg,
    Launch,
    ScalarArg,
    TensorArg,
)
from gpudbg.formats.launch_toml import flag_launch
from gpudbg.formats.program import Kernel, Program
from gpudbg.launch.tensor_maps import TYPE, is_tensor_map, proposed_tensor, rank_of_copies
from gpudbg.sm.launch import RESERVED_SHARED
from gpudbg.toolchain.signatures import Parameter, known

BLOCK = 64
BLOCKS = 2
RAMP = "arange(start=0, step=1)"
SHARED_PER_THREAD = 16
"""Bytes: an element of any type for each thread."""


@dataclass(frozen=True, slots=True)
class FormArgument:
    """One argument.

    Attributes:
        name: the parameter's.
        type: what is known of its type: `float*`, `int`, `8 bytes`.
        text: its value in the words of `--arg`; empty where nothing is given.
    """

    name: str
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class LaunchForm:
    """A launch as texts.

    Attributes:
        kernel: its name in the program.
        grid, block: `2`, `8,8`.
        shared: bytes of dynamic shared memory.
        arguments: in order.
        cluster: blocks of a cluster, empty where there are none.
    """

    kernel: str
    grid: str
    block: str
    shared: str
    arguments: tuple[FormArgument, ...]
    cluster: str = ""

    def flags(self) -> list[str]:
        """The launch flags that say the same."""
        out = ["--kernel", self.kernel, "--grid", self.grid, "--block", self.block]
        if self.cluster:
            out += ["--cluster", self.cluster]
        if self.shared not in ("", "0"):
            out += ["--shared", self.shared]
        for argument in self.arguments:
            if argument.text:
                out += ["--arg", f"{argument.name}={argument.text}"]
        return out

    def toml(self) -> list[str]:
        """A launch table that says the same."""
        out = [
            f"kernel = {_quoted(self.kernel)}",
            f"grid = {_sizes(self.grid)}",
            f"block = {_sizes(self.block)}",
        ]
        if self.cluster:
            out.append(f"cluster = {_sizes(self.cluster)}")
        if self.shared not in ("", "0"):
            out.append(f"shared_bytes = {self.shared}")
        if not self.arguments:
            return out
        out.append("args = [")
        for a in self.arguments:
            # A scalar's name says nothing in a list: it is a comment.
            buffer = "[" in a.text.partition("(")[0] or a.text.startswith("@")
            words = f"{a.name}={a.text}" if buffer else a.text
            out.append(f"    {_quoted(words)},   # {a.type} {a.name}")
        return [*out, "]"]

    def command(self, verb: str) -> str:
        """A console line that launches it."""
        return f"{verb} {shlex.join(self.flags())}"


def propose(program: Program, kernel: Kernel) -> Launch:
    """A launch table that runs as it is, whatever the kernel computes from it."""
    block = proposed_block(kernel)
    return flag_launch(
        Launch(source="proposed"),
        kernel=kernel.name,
        grid=",".join(map(str, significant(proposed_grid(kernel)))),
        block=",".join(map(str, block)),
        shared_bytes=proposed_shared(program, kernel) or None,
        args=[f"{row.name}={text}" for row, text in proposed_arguments(program, kernel)],
        parameters=[row.name for row in known(program, kernel)],
    )


def proposed_grid(kernel: Kernel) -> tuple[int, ...]:
    """Some blocks, in whole clusters."""
    x, y, z = kernel.cluster or (1, 1, 1)
    return (x * -(-BLOCKS // x), y, z)


def proposed_block(kernel: Kernel) -> tuple[int, ...]:
    """What `__launch_bounds__` or `.reqntid` ask for, else `BLOCK` threads."""
    if kernel.required_threads:
        return kernel.required_threads
    limit = kernel.max_threads
    return (min(BLOCK, prod(limit)) if limit else BLOCK,)


def proposed_shared(program: Program, kernel: Kernel) -> int:
    """Bytes of dynamic shared memory: for a kernel that has `extern __shared__` memory alone.

    Of such a kernel the file has a section of shared memory with nothing in it.
    """
    section = program.sections.get(f".nv.shared.{kernel.name}")
    if section is None or kernel.shared_static_bytes not in (0, RESERVED_SHARED):
        return 0
    return SHARED_PER_THREAD * prod(proposed_block(kernel))


def proposed_arguments(program: Program, kernel: Kernel) -> list[tuple[Parameter, str]]:
    """Every parameter and the text of what is proposed for it."""
    rows = known(program, kernel)
    elements = prod(proposed_grid(kernel)) * prod(proposed_block(kernel))
    pointers = [row for row in rows if row.pointer]
    rank = rank_of_copies(program, kernel)
    out = []
    for row in rows:
        if is_tensor_map(row, rank):
            shape, box = proposed_tensor(rank)
            text = f"tensor:f32[{_list(shape)}](box=[{_list(box)}]):{RAMP}"
            out.append((replace(row, type=row.type or TYPE), text))
        elif row.pointer:
            first = row is pointers[0] and len(pointers) > 1
            out.append((row, f"{row.short or 'u32'}[{elements}]:{RAMP if first else 'zeros'}"))
        else:
            out.append((row, proposed_scalar(row, elements)))
    return out


def _list(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def proposed_scalar(row: Parameter, elements: int) -> str:
    """What is proposed for a parameter that is no pointer."""
    if row.size not in (1, 2, 4, 8):
        return "hex:" + "00" * row.size
    kind = row.short or f"i{row.size * 8}"
    if row.size == 1:
        return f"{kind}:1"
    return f"{kind}:1.0" if kind[0] == "f" else f"{kind}:{elements}"


def form_of(program: Program, kernel: Kernel, table: Launch) -> LaunchForm:
    """A launch of a kernel as texts; arguments beyond the table's stay empty."""
    rows = known(program, kernel)
    given = table.args[: len(rows)]
    texts = [argument_text(arg, table) for arg in given]
    maps = {n for n, arg in enumerate(given) if isinstance(arg, TensorArg)}
    rows = tuple(replace(r, type=r.type or TYPE) if n in maps else r for n, r in enumerate(rows))
    texts += [""] * (len(rows) - len(texts))
    arguments = tuple(
        FormArgument(row.name, type_words(row), text) for row, text in zip(rows, texts, strict=True)
    )
    sizes = table.cluster or kernel.cluster
    cluster = _dims(sizes) if sizes is not None else ""
    return LaunchForm(
        kernel.name,
        _dims(table.grid),
        _dims(table.block),
        str(table.shared_bytes),
        arguments,
        cluster,
    )


def filled(form: LaunchForm, proposed: LaunchForm) -> LaunchForm:
    """A form whose empty arguments are those of a proposal."""
    arguments = tuple(
        a if a.text else replace(a, text=b.text)
        for a, b in zip(form.arguments, proposed.arguments, strict=True)
    )
    return replace(form, arguments=arguments)


def type_words(row: Parameter) -> str:
    """What is known of a parameter's type."""
    if row.type:
        return row.type + ("*" if row.pointer else "")
    return f"{row.size} bytes"


def signature(program: Program, kernel: Kernel) -> str:
    """`saxpy(int n, float* x)`, as far as it is known."""
    words = (f"{type_words(row)} {row.name}" for row in known(program, kernel))
    return f"{program.shown(kernel.name).partition('(')[0]}({', '.join(words)})"


# ---- texts -----------------------------------------------------------------------------
def argument_text(arg: Arg, table: Launch) -> str:
    """An argument in the words of `--arg`, without its name; empty where words cannot say it."""
    match arg:
        case ScalarArg(value=bytes() as value):
            return f"hex:{value.hex()}"
        case ScalarArg(dtype=dtype, value=value):
            return str(value) if dtype in ("int", "float") else f"{dtype}:{value!r}"
        case BufferArg(buffer=name, offset=offset) if offset:
            return f"{name}+{offset}"
        case BufferArg(buffer=name):
            spec = table.buffers.get(name)
            return (buffer_text(spec) if spec is not None else "") or name
        case ImageArg(image=name):
            return name
        case TensorArg(buffer=name, options=options):
            spec = table.buffers.get(name)
            words = ",".join(_option("tensor", key, value) for key, value in options.items())
            if spec is None or (not init_text(spec.init) and spec.init.given):
                return f"tensor:{name}({words})"
            size = f"{spec.dtype}[{_list(spec.shape)}]"
            return f"tensor:{size}({words}){init_text(spec.init)}"
    return ""


def buffer_text(spec: BufferSpec) -> str:
    """`f32[100]:arange(start=0, step=1)`; empty where its contents are an array."""
    contents = init_text(spec.init)
    whole = f"{spec.dtype}[{','.join(map(str, spec.shape))}]{contents}"
    return whole if contents or not spec.init.given else ""


def init_text(init: Init) -> str:
    """`:rule(option=value)` or `@file`; empty where there are none, or they are an array."""
    if init.rule == "array" or not init.given:
        return ""
    if init.rule == "file":
        return f"@{init.path}"
    return f":{init.rule}" + _options(init.rule, init.options or {})


def _options(rule: str, options: Mapping[str, Any]) -> str:
    words = ", ".join(_option(rule, key, value) for key, value in options.items())
    return f"({words})" if words else ""


def _option(rule: str, key: str, value: Any) -> str:
    if LIST_OPTIONS.get(rule) == key or isinstance(value, list | tuple):
        return f"{key}=[{', '.join(map(str, value))}]"
    return f"{key}={value}"


def _dims(value: Sequence[int]) -> str:
    return ",".join(map(str, significant(value)))


def _sizes(text: str) -> str:
    """Sizes as a launch table writes them."""
    words = text.replace("x", ",").split(",")
    return words[0].strip() if len(words) == 1 else f"[{', '.join(w.strip() for w in words)}]"


def _quoted(text: str) -> str:
    """A TOML string."""
    import json

    return json.dumps(text, ensure_ascii=False)
