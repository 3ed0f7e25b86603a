"""Kernel cases: launches with inputs and expected results, run through the public Python API.

A case is read from `tests/data/kernels/NAME.json`: buffers, module-scope symbols, launches in
order over the same buffers, and either the buffers' final contents or the fault to expect.

    for case in cases("sm_50"):
        assert not check(case, run(case))

`run` takes the function that loads a program, so every engine and device can be tried:

    run(case, functools.partial(gpudbg.load, engine="step"))
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.formats.initdata import Init, dtype_of, make_array, make_init
from tests.variants import in_turn

Array = npt.NDArray[Any]
LoadProgram = Callable[[str], Any]

DATA = Path(__file__).resolve().parent / "data"
KERNELS = DATA / "kernels"
VARIANTS = ("sm_50", "sm_50-G", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62")
DEFAULT_LIMIT = 5_000_000
"""Warp instructions after which a launch counts as endless."""

FAULTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "illegal_address": (("warp_error",), ("MMU_FAULT", "MMU_NACK", "OOR_ADDR")),
    "misaligned_address": (("warp_error",), ("MISALIGNED_ADDR",)),
    "shared_out_of_range": (("warp_error",), ("OOR_ADDR",)),
    "local_out_of_range": (("warp_error",), ("OOR_ADDR",)),
    "stack_overflow": (("warp_error",), ("STACK_OVERFLOW", "OOR_ADDR")),
    "illegal_instruction": (("warp_error",), ("ILLEGAL_INSTR_ENCODING",)),
    "invalid_pc": (("warp_error",), ("PC_OVERFLOW", "PC_WRAP", "MISALIGNED_PC")),
    "breakpoint": (("trap", "breakpoint"), ()),
    "trap": (("trap",), ()),
    "barrier_deadlock": (("deadlock",), ()),
    "timeout": (("limit",), ()),
}
"""Fault class -> stop kinds, and names of the first warp error (none: no error is asked for)."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Final contents of one buffer.

    Attributes:
        compare: "exact" or "close".
        first8: the first elements, for messages.
        sha256: of the little-endian bytes (exact).
        array: the contents (close).
        rtol: |got - want| <= atol + rtol * |want|, and the same NaN pattern.
        atol: as above.
    """

    compare: str
    first8: tuple[Any, ...]
    sha256: str = ""
    array: Array | None = None
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """One case of one kernel file, for one variant of its cubin.

    Attributes:
        kernel: file name without ".json".
        name: the case's name.
        variant: folder of the cubin, such as "sm_50" or "sm_50-G".
        cubin: the program.
        buffers: buffer and image descriptions, as in the file.
        symbols: module-scope variables to set first, as in the file.
        launches: launches in order, as in the file.
        expect: expected final contents by buffer.
        error: the fault to expect, or None.
    """

    kernel: str
    name: str
    variant: str
    cubin: Path
    buffers: Mapping[str, Mapping[str, Any]]
    symbols: Mapping[str, Mapping[str, Any]]
    launches: Sequence[Mapping[str, Any]]
    expect: Mapping[str, Expected]
    error: Mapping[str, Any] | None

    @property
    def id(self) -> str:
        """What pytest shows."""
        return f"{self.kernel}-{self.name}-{self.variant}"


@dataclass(slots=True)
class Outcome:
    """What a run gave.

    Attributes:
        stops: the last stop of each launch that was made; a fault ends the list.
        arrays: final contents of every buffer and image, one-dimensional.
        sessions: the sessions, newest last.
    """

    stops: list[Any] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    sessions: list[Any] = field(default_factory=list)


def kernel_names() -> list[str]:
    """Names of all kernel files with cases."""
    return sorted(p.stem for p in KERNELS.glob("*.json") if _read(p).get("cases"))


def cases(
    *variants: str, names: Sequence[str] | None = None, faults: bool | None = None
) -> list[Case]:
    """The cases to run.

    Args:
        variants: cubin folders; none = all.
        names: kernel files; None = all.
        faults: True only cases that fault, False only others, None both.
    """
    found = []
    for name in kernel_names() if names is None else names:
        for variant in variants or VARIANTS:
            for case in load(name, variant):
                if faults is None or faults == (case.error is not None):
                    found.append(case)
    return found


def some(*variants: str, count: int = 1) -> list[Case]:
    """All cases of `count` of the variants of each kernel, in turn (`tests.variants`)."""
    found = cases(*variants)
    builds = dict.fromkeys((case.kernel, case.variant) for case in found)
    chosen = set(in_turn(builds, lambda build: build[0], count))
    return [case for case in found if (case.kernel, case.variant) in chosen]


def _read(path: Path) -> dict[str, Any]:
    """A JSON file."""
    return dict(json.loads(path.read_text()))


def load(name: str, variant: str) -> Iterator[Case]:
    """The cases of one kernel file for one variant; none when the variant has no cubin.

    Args:
        name: file name without ".json".
        variant: cubin folder.
    """
    cubin = KERNELS / "cubin" / variant / f"{name}.cubin"
    if not cubin.exists():
        return
    for case in _read(KERNELS / f"{name}.json")["cases"]:
        yield Case(
            kernel=name,
            name=case["name"],
            variant=variant,
            cubin=cubin,
            buffers=case["buffers"],
            symbols=case.get("symbols", {}),
            launches=case["launches"],
            expect={k: _expected(v) for k, v in case.get("expect", {}).items()},
            error=case.get("expect_error"),
        )


def _expected(row: Mapping[str, Any]) -> Expected:
    """One entry of `expect`."""
    npy = row.get("npy")
    return Expected(
        compare=row["compare"],
        first8=tuple(row["first8"]),
        sha256=row.get("sha256", ""),
        array=np.load(KERNELS / npy) if npy else None,
        rtol=row.get("rtol", 0.0),
        atol=row.get("atol", 0.0),
    )


def contents(spec: Mapping[str, Any], addresses: Mapping[str, int] | None = None) -> Array:
    """First contents of a buffer or symbol, one-dimensional.

    Args:
        spec: its description.
        addresses: device addresses of buffers, for pointers.
    """
    options = dict(spec.get("init", {"rule": "zeros"}))
    if options["rule"] == "encode":
        return encoded(options["fmt"], contents({**spec, "dtype": "f64", "init": options["of"]}))
    init: Init = make_init(options.pop("rule"), options)
    return make_array(spec["dtype"], spec["count"], init, addresses)


def encoded(fmt: str, values: Array) -> Array:
    """Numbers rounded to nearest even as patterns of bf16."""
    assert fmt == "bf16", f"no encoding to {fmt}"
    # To odd first, so that rounding twice is as rounding once.
    single = values.astype(np.float32)
    bits = single.view(np.uint32).astype(np.int64)
    over = np.abs(single.astype(np.float64)) > np.abs(values)
    bits = np.where(over, bits - 1, bits)
    inexact = bits.astype(np.uint32).view(np.float32).astype(np.float64) != values
    bits |= inexact
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def image_array(spec: Mapping[str, Any]) -> Array:
    """First contents of an image in natural order: slowest axis first, channels last."""
    shape = tuple(reversed(spec["size"]))
    channels = spec.get("channels", 1)
    return contents(spec).reshape(shape + ((channels,) if channels > 1 else ()))


def make_objects(case: Case, device: Any) -> dict[str, Any]:
    """The case's buffers, textures and surfaces on a device, by name."""
    made: dict[str, Any] = {}
    addresses: dict[str, int] = {}
    pointers_last = sorted(
        case.buffers, key=lambda name: case.buffers[name]["init"]["rule"] == "pointers"
    )
    for name in pointers_last:
        spec = case.buffers[name]
        kind = spec.get("object")
        if kind is None:
            made[name] = device.buffer(contents(spec, addresses))
            addresses[name] = made[name].address
            continue
        options = {k: spec[k] for k in ("filter", "address", "normalized", "read") if k in spec}
        make = device.texture if kind == "texture" else device.surface
        made[name] = make(image_array(spec), dim=spec["dim"], **options)
    return made


def argument(row: Mapping[str, Any], objects: Mapping[str, Any]) -> Any:
    """One launch argument for `program.launch`."""
    if row["kind"] != "scalar":
        return objects[row["buffer"]]
    if "hex" in row:
        return bytes.fromhex(row["hex"])
    return dtype_of(row["dtype"]).type(row["value"])


def run(case: Case, load_program: LoadProgram | None = None, limit: int = DEFAULT_LIMIT) -> Outcome:
    """Run a case.

    Args:
        case: the case.
        load_program: makes a program from a path; `gpudbg.load` when None.
        limit: warp instructions after which a launch is stopped.

    Returns:
        What came out; launches after a fault are not made.
    """
    if load_program is None:
        import gpudbg

        load_program = gpudbg.load
    program = load_program(str(case.cubin))
    outcome = Outcome()
    objects = make_objects(case, program.device)
    for name, spec in case.symbols.items():
        program.write_symbol(name, contents(spec))
    for launch in case.launches:
        session = program.launch(
            launch["entry"],
            grid=tuple(launch["grid"]),
            block=tuple(launch["block"]),
            args=[argument(row, objects) for row in launch["args"]],
            shared_bytes=launch.get("shared_by_variant", {}).get(
                case.variant, launch.get("shared", 0)
            ),
            cluster=launch.get("cluster"),
        )
        stop = session.run(max_instructions=limit)
        assert session.grid.fast is None or not session.grid.fast.trouble
        outcome.sessions.append(session)
        outcome.stops.append(stop)
        if stop.kind != "exited":
            break
    for name, spec in case.buffers.items():
        array = np.ascontiguousarray(objects[name].array()).reshape(-1)
        outcome.arrays[name] = array.view(dtype_of(spec["dtype"]))
    return outcome


def check(case: Case, outcome: Outcome) -> list[str]:
    """What differs from the case's expectations, one line each; empty when all is as expected."""
    if case.error is not None:
        return check_fault(case.error, outcome.stops[-1], case.variant.endswith("-G"))
    wrong = [
        f"{case.id}: launch {i} stopped: {stop.kind}: {stop.message}"
        for i, stop in enumerate(outcome.stops)
        if stop.kind != "exited"
    ]
    if wrong:
        return wrong
    for name, expected in case.expect.items():
        why = compare(outcome.arrays[name], expected)
        if why:
            wrong.append(f"{case.id}: buffer {name}: {why}")
    return wrong


def compare(got: Array, want: Expected) -> str:
    """Why an array is not as expected, or ""."""
    if want.compare == "exact":
        digest = hashlib.sha256(np.ascontiguousarray(got).tobytes()).hexdigest()
        first = [x.item() for x in got[:8]]
        return "" if digest == want.sha256 else f"got {first}..., expected {list(want.first8)}..."
    assert want.array is not None
    if got.size != want.array.size:
        return f"{got.size} elements, expected {want.array.size}"
    g, w = got.astype(np.float64), want.array.reshape(-1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        good = (
            (g == w) | (np.isnan(g) & np.isnan(w)) | (abs(g - w) <= want.atol + want.rtol * abs(w))
        )
    bad = np.flatnonzero(~good)
    if not bad.size:
        return ""
    at = int(bad[0])
    return f"{bad.size} elements differ, first [{at}]: got {g[at]!r}, expected {w[at]!r}"


def check_fault(error: Mapping[str, Any], stop: Any, debug: bool = False) -> list[str]:
    """What differs between a stop and the fault to expect, one line each.

    Args:
        error: the case's `expect_error`.
        stop: the stop.
        debug: a -G build, whose functions check their stack themselves and trap.
    """
    kinds, names = FAULTS[error["class"]]
    if debug and error["class"] == "stack_overflow" and stop.kind == "trap":
        return []
    if stop.kind not in kinds:
        return [f"expected {error['class']}, stopped as {stop.kind}: {stop.message}"]
    wrong = []
    first = stop.errors[0] if stop.errors else None
    if names and (first is None or first.name not in names):
        wrong.append(f"expected one of {names}, got {first.name if first else 'no error'}")
    source = first if first is not None else stop
    for key in ("warp", "space", "access"):
        got = getattr(source, key, None)
        if key in error and got is not None and got != error[key]:
            wrong.append(f"{key} is {got}, expected {error[key]}")
    if "block" in error and stop.block is not None and tuple(stop.block) != tuple(error["block"]):
        wrong.append(f"block is {stop.block}, expected {tuple(error['block'])}")
    if "lanes" in error and first is not None and set(first.lanes) != set(error["lanes"]):
        wrong.append(f"lanes are {first.lanes}, expected {error['lanes']}")
    return wrong
