"""The table of CUDA functions: names, parameters and who answers them.

`tables/*.tbl` has a line for each function that a program may call:

    cuMemAlloc_v2@3020   memory.alloc   out u64 address, size bytes

The name, the CUDA version from which programs get it where a name has several, the function of
`gpudbg.hosting.calls` that carries it out, and its parameters in C's order.  `-` in place of a
handler: the C sources have it by hand.  A name that begins with `host_` is no CUDA function: the C
sources call it.  What a program gets for a name in `tables/absent_*.txt` is "not supported".

Kinds of parameters: `i32 u32 u64 size ptr f32` are values; `text` is a zero-terminated string;
`fun` and `sym` are a kernel's and a variable's address in the host program, which become the
device's; `in[N]` and `out[N]` are N bytes, N an expression of other parameters in C; `out KIND` is
a place for one value; `skip KIND` is not passed on.
"""

from __future__ import annotations

import re
import struct
from functools import cache
from importlib.resources import files

from gpudbg.dataclass import dataclass

FORMATS = {
    "i32": "i4x",
    "u32": "I4x",
    "u64": "Q",
    "size": "Q",
    "ptr": "Q",
    "fun": "Q",
    "sym": "Q",
    "f32": "f4x",
}
"""How a value lies in the 8 bytes that it takes in a message."""
_LINE = re.compile(r"(\w+)(?:@(\d+))?\s+(\S+)\s*(.*)")
_PARAMETER = re.compile(r"(?:(out|skip)\s+)?(\w+)(?:\[(.*)\])?\s+(\w+)")
INTERNAL = "host_"
BY_HAND = "-"
_LAUNCH = "__cudaLaunchKernel"
"""The one function of compiled host code that has a name for such streams."""


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """One parameter.

    Attributes:
        name: for the C source.
        kind: of the value: a key of `FORMATS`, "text", or "bytes".
        out: a place that the call fills.
        skipped: the device does not get it.
        size: of bytes, in C.
    """

    name: str
    kind: str
    out: bool = False
    skipped: bool = False
    size: str = ""


@dataclass(frozen=True, slots=True)
class ApiFunction:
    """One function.

    Attributes:
        number: of its messages.
        name: as it is exported.
        since: CUDA version from which `cuGetProcAddress` gives this one for its base name.
        handler: "module.function" of `gpudbg.hosting.calls`, or "-".
        parameters: in C's order.
    """

    number: int
    name: str
    since: int
    handler: str
    parameters: tuple[ApiParameter, ...]

    @property
    def runtime(self) -> bool:
        """Whether it is of the runtime API."""
        return self.name.startswith(("cuda", "__cuda"))

    @property
    def given(self) -> tuple[ApiParameter, ...]:
        """What a message has."""
        return tuple(p for p in self.parameters if not p.out and not p.skipped)

    @property
    def answered(self) -> tuple[ApiParameter, ...]:
        """What its answer has."""
        return tuple(p for p in self.parameters if p.out)

    def reader(self) -> struct.Struct | None:
        """The layout of a message, where it has no bytes of varying length."""
        if any(p.kind not in FORMATS for p in self.given):
            return None
        return struct.Struct("<" + "".join(FORMATS[p.kind] for p in self.given))

    def writer(self) -> struct.Struct | None:
        """The layout of an answer, likewise."""
        if any(p.kind not in FORMATS for p in self.answered):
            return None
        return struct.Struct("<" + "".join(FORMATS[p.kind] for p in self.answered))


def _parameter(text: str) -> ApiParameter:
    found = _PARAMETER.fullmatch(text.strip())
    assert found is not None, text
    mode, kind, size, name = found.groups()
    if kind in ("in", "out") and size is not None:
        return ApiParameter(name, "bytes", out=kind == "out", size=size)
    assert kind in FORMATS or kind == "text", text
    return ApiParameter(name, kind, out=mode == "out", skipped=mode == "skip")


def _parameters(text: str) -> tuple[ApiParameter, ...]:
    """Commas inside brackets separate nothing."""
    parts = re.split(r",(?![^\[]*\])", text) if text.strip() else []
    return tuple(_parameter(part) for part in parts)


def table_lines(name: str) -> list[str]:
    """Lines of a table without comments."""
    text = files(__package__).joinpath("tables", name).read_text(encoding="utf-8")
    plain = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in plain if line]


@cache
def functions() -> tuple[ApiFunction, ...]:
    """All functions that are carried out."""
    made: list[ApiFunction] = []
    for name in ("driver.tbl", "runtime.tbl"):
        for line in table_lines(name):
            found = _LINE.fullmatch(line)
            assert found is not None, line
            function, since, handler, rest = found.groups()
            made.append(
                ApiFunction(len(made), function, int(since or 0), handler, _parameters(rest))
            )
    return tuple(made)


@cache
def absent() -> tuple[str, ...]:
    """Names that a program may call and that are not supported."""
    known = {f.name for f in functions()}
    # Of a name that has versions the first one has 32-bit sizes: no program of today asks for it.
    known |= {f.name.rpartition("_v")[0] for f in functions() if f.since}
    names = (n for file in ("absent_driver.txt", "absent_runtime.txt") for n in table_lines(file))
    plain = (n for n in names if not n.endswith(("_ptsz", "_ptds")))
    return tuple(name for name in dict.fromkeys(plain) if name not in known)


@cache
def aliases() -> tuple[tuple[str, str], ...]:
    """(name, function) of names that programs with a default stream for each thread call."""
    made: list[tuple[str, str]] = []
    for function in functions():
        if function.name.startswith((INTERNAL, "__")) and function.name != _LAUNCH:
            continue
        suffixes = ("_ptsz", "_ptds")
        made += [(function.name + suffix, function.name) for suffix in suffixes]
    # Only some have them; a program that asks for one has to begin.
    made += [(name + suffix, name) for name in absent() for suffix in ("_ptsz", "_ptds")]
    return tuple(made)
