"""Reference: the public names of `import gpudbg`, from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from typing import get_args

import gpudbg
from gpudbg.manual.markdown import anchor, code, label, plain, section, table

GROUPS: tuple[tuple[str, str], ...] = (
    ("Programs and devices", "load open compile assemble_program LoadedProgram Kernel Global "
     "Device DeviceBuffer DeviceImage"),
    ("Sessions", "DebugSession Breakpoint Subscription Observer Focus Line Output Result"),
    ("Warps, lanes, registers", "WarpView LaneView RegisterFile PredicateFile Memory SpecialValue "
     "InstructionInfo Snapshot WarpRow WarpDetail StackEntry"),
    ("Stops", "Stop StopKind EntryStop StepStop BreakpointStop WatchpointStop TrapStop FaultStop "
     "DeadlockStop ExitStop InterruptStop LimitStop OpenedStop ErrorRecord Trigger CallSite "
     "KernelError"),
    ("Tracing and going back", "TraceLog TraceEntry PlaceTouch Derivation"),
    ("Checks", "check check_session CheckReport"),
    ("Kernels of other libraries", "numba triton triton_driver cupy SourceModule load_inline"),
    ("Instructions", "assemble decode BoundInstruction BoundWideInstruction"),
    ("Errors", "GpudbgError UsageError LoadError CompileError AssembleError DecodeError "
     "CommandError PluginError InternalError ModelGap"),
)  # fmt: skip
"""Public names by what they are for; a name that is missing stands under `Others`."""


OTHERS = "Others"
DATA = {"StopKind": "gpudbg.debug.stops.stop"}
"""Public names that are neither classes nor functions -> the module they are written in."""


def names() -> list[str]:
    """Every public name."""
    return sorted({*gpudbg.__all__, "compile", "open"} - {"__version__"})


def grouped() -> dict[str, list[str]]:
    """Heading -> names, every public one."""
    public = names()
    found = {title: [n for n in words.split() if n in public] for title, words in GROUPS}
    known = {name for words in found.values() for name in words}
    return {**found, OTHERS: [name for name in public if name not in known]}


def slug(title: str) -> str:
    """The name of a group's page."""
    return "python-" + re.sub(r"\W+", "-", title.lower()).strip("-")


def overview() -> str:
    """The page that leads to the groups' pages."""
    parts = [
        "`import gpudbg` costs nothing: names are loaded on first use. Everything here stays: "
        "names, fields and methods without an underscore are kept from release to release. "
        "Examples begin with `session` at the entry of `first_steps`, `program` its program, and "
        "`np`; each is run by the tests.\n",
    ]
    for title, public in grouped().items():
        if public:
            rows = [[f"[`{n}`](#python-{anchor(n)})", _first(n)] for n in public]
            parts += [
                section(2, f"[{title}]({slug(title)}.md)"),
                table(("name", "what it is"), rows),
            ]
    return "\n".join(parts)


def group(title: str) -> str:
    """The page of a group; the site puts docstrings in place of the blocks."""
    parts = []
    for name in grouped()[title]:
        thing = getattr(gpudbg, name)
        if name in DATA:
            parts += [label("python", name), section(2, code(name), _data(name) + "\n")]
            continue
        kind = "class" if inspect.isclass(thing) else "function"
        members = "\n   :members:" if kind == "class" else ""
        parts += [
            label("python", name),
            section(
                2, f"`{name}`", f"```{{eval-rst}}\n.. auto{kind}:: gpudbg.{name}{members}\n```\n"
            ),
        ]
    return "\n".join(parts)


def _data(name: str) -> str:
    """What stands below the assignment of a name, and its values."""
    body = ast.parse(inspect.getsource(import_module(DATA[name]))).body
    at = next(
        n
        for n, part in enumerate(body)
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == name
    )
    said = body[at + 1]
    assert isinstance(said, ast.Expr)
    assert isinstance(said.value, ast.Constant)
    values = ", ".join(code(repr(value)) for value in get_args(getattr(gpudbg, name)))
    return plain(" ".join(str(said.value.value).split())) + (
        f"\n\nValues: {values}." if values else ""
    )


def in_text(name: str) -> str:
    """A public name for the terminal: signature, docstring, and the first lines of its methods."""
    if name in DATA:
        return _data(name) + "\n"
    thing = getattr(gpudbg, name)
    lines = [f"    {name}{_signature(thing)}", "", inspect.getdoc(thing) or "", ""]
    if inspect.isclass(thing):
        for member, value in inspect.getmembers(thing):
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                call = "" if isinstance(value, property) else _signature(value)
                lines.append(f"* `{member}{call}` {plain(first_sentence(value))}")
    return "\n".join(lines) + "\n"


def _signature(thing: object) -> str:
    try:
        return str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""


def first_sentence(thing: object) -> str:
    """What a docstring begins with."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def _first(name: str) -> str:
    if name in DATA:
        return _data(name).partition(":")[0] + "."
    return plain(first_sentence(getattr(gpudbg, name)))
