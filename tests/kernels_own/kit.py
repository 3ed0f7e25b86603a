"""How a kernel of this folder is described, run and compared.

A kernel is a source file `src/NAME.cu` or `src/NAME.ptx` and a function NAME, decorated with
`kernel`, that makes its `Case`: buffers, launches in order over them, and what the buffers hold in
the end.  References are plain NumPy or Python and know nothing of gpudbg.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FOLDER = Path(__file__).resolve().parent
SOURCES = FOLDER / "src"
CUBINS = FOLDER / "cubin"
GROUPS = (
    "sorting",
    "hashing",
    "numeric",
    "graphs",
    "language",
    "control",
    "memory",
    "builtins",
    "ptx",
    "polling",
)
"""Modules `ref_GROUP` that hold the references."""

LIMIT = 400_000
"""Warp instructions after which a launch counts as endless."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: a string argument names a buffer, anything else is passed as it is."""

    entry: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: Sequence[Any]
    shared: int = 0


@dataclass(frozen=True, slots=True)
class WithAddress:
    """A by-value struct that ends in a buffer's address."""

    head: bytes
    buffer: str


@dataclass(frozen=True, slots=True)
class Close:
    """An expectation with a tolerance: |got - want| <= atol + rtol * |want|, equal NaNs."""

    want: Array
    rtol: float
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """What to run and what to expect.

    Attributes:
        buffers: initial contents by name.
        launches: in order.
        expect: final contents; an array is compared bit for bit.
        symbols: module variables to write first.
        expect_symbols: final contents of module variables.
        output: what device printf prints, or None.
        num_sms: of the device, None for the default.
    """

    buffers: Mapping[str, Array]
    launches: Sequence[Launch]
    expect: Mapping[str, Array | Close]
    symbols: Mapping[str, Array] = field(default_factory=dict)
    expect_symbols: Mapping[str, Array] = field(default_factory=dict)
    output: str | None = None
    num_sms: int | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and how it is built.

    Attributes:
        name: of the source file, without its ending.
        make: makes the case.
        variants: what is built: an architecture, "-G" behind it for a debug build, "-line" for
            line information.
        options: further compiler options.
    """

    name: str
    make: Callable[[], Case]
    variants: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """Which of `GROUPS` it is in."""
        return self.make.__module__.rpartition("ref_")[2]

    @property
    def source(self) -> Path:
        """The source file."""
        cuda = SOURCES / f"{self.name}.cu"
        return cuda if cuda.exists() else SOURCES / f"{self.name}.ptx"

    def cubin(self, variant: str, folder: Path = CUBINS) -> Path:
        """Where a variant's cubin is."""
        return folder / f"{self.name}.{variant}.cubin"


KERNELS: dict[str, Kernel] = {}
"""Every kernel by name; filled by `all_kernels`."""


def kernel(*variants: str, options: Sequence[str] = ()) -> Callable[[Callable[[], Case]], Kernel]:
    """Decorator: the function below makes the case of the kernel of its name."""

    def wrap(make: Callable[[], Case]) -> Kernel:
        made = Kernel(make.__name__, make, variants, tuple(options))
        assert made.name not in KERNELS, f"{made.name} is there twice"
        KERNELS[made.name] = made
        return made

    return wrap


def all_kernels() -> list[Kernel]:
    """Every kernel of every group."""
    for group in GROUPS:
        importlib.import_module(f"tests.kernels_own.ref_{group}")
    return list(KERNELS.values())


def rng(name: str) -> np.random.Generator:
    """Random numbers that depend on a name only."""
    return np.random.default_rng(list(name.encode()))


def u32(generator: np.random.Generator, count: int) -> Array:
    """Random words."""
    return generator.integers(0, 1 << 32, count, dtype=np.uint32)


def u64(generator: np.random.Generator, count: int) -> Array:
    """Random 64-bit words."""
    return generator.integers(0, 1 << 64, count, dtype=np.uint64)


def words(values: Sequence[int], dtype: npt.DTypeLike = np.uint32) -> Array:
    """Python integers, wrapped to a type of that size."""
    size = np.dtype(dtype).itemsize
    mask = (1 << 8 * size) - 1
    return np.array([v & mask for v in values], f"u{size}").view(dtype)


def begun(case: Case, cubin: Path, engine: str) -> Any:
    """A session at the begin of a case's first launch, which has no struct with an address."""
    import gpudbg

    program = gpudbg.load(str(cubin), engine=engine)
    objects = {name: program.device.buffer(array) for name, array in case.buffers.items()}
    launch = case.launches[0]
    args = [_argument(a, objects) for a in launch.args]
    return program.launch(
        launch.entry, launch.grid, launch.block, args=args, shared_bytes=launch.shared
    )


def run(
    case: Case, cubin: Path, load: Callable[..., Any] | None = None, limit: int = LIMIT
) -> list[str]:
    """Run a case and say what is not as expected, one line each."""
    if load is None:
        import gpudbg

        load = gpudbg.load
    program = load(str(cubin)) if case.num_sms is None else load(str(cubin), num_sms=case.num_sms)
    objects = {name: program.device.buffer(array) for name, array in case.buffers.items()}
    for name, content in case.symbols.items():
        program.write_symbol(name, content)
    for number, launch in enumerate(case.launches):
        args = [_argument(a, objects) for a in launch.args]
        session = program.launch(
            launch.entry, launch.grid, launch.block, args=args, shared_bytes=launch.shared
        )
        stop = session.run(max_instructions=limit)
        fast = session.grid.fast
        if fast is not None and fast.trouble:
            return [f"launch {number} ({launch.entry}): {fast.trouble}"]
        if stop.kind != "exited":
            return [f"launch {number} ({launch.entry}) stopped: {stop.kind}: {stop.message}"]
    wrong = [
        f"buffer {name}: {why}"
        for name, want in case.expect.items()
        if (why := differs(objects[name].array(), want))
    ]
    for name, content in case.expect_symbols.items():
        why = differs(program.read_symbol(name, content.dtype), content)
        wrong += [f"symbol {name}: {why}"] if why else []
    printed = program.device.gpu.output.text
    if case.output is not None and printed != case.output:
        wrong.append(f"printed {printed!r}, expected {case.output!r}")
    return wrong


def _argument(given: Any, objects: Mapping[str, Any]) -> Any:
    if isinstance(given, str):
        return objects[given]
    if isinstance(given, WithAddress):
        return given.head + objects[given.buffer].address.to_bytes(8, "little")
    return given


def differs(got: Array, want: Array | Close) -> str:
    """Why an array is not as expected, or ""."""
    if isinstance(want, Close):
        return _not_close(got.reshape(-1), want)
    if got.nbytes != want.nbytes:
        return f"{got.nbytes} bytes, expected {want.nbytes}"
    flat, other = got.reshape(-1), np.ascontiguousarray(want).reshape(-1)
    if flat.dtype.names:
        flat, other = flat.view(np.uint8), other.view(np.uint8)
    width = f"u{flat.dtype.itemsize}"
    bad = np.flatnonzero(flat.view(width) != other.view(width))
    return _first(flat, other, bad)


def _not_close(got: Array, close: Close) -> str:
    want = close.want.reshape(-1)
    if got.size != want.size:
        return f"{got.size} elements, expected {want.size}"
    with np.errstate(invalid="ignore", over="ignore"):
        near = abs(got - want) <= close.atol + close.rtol * abs(want)
        good = (got == want) | (np.isnan(got) & np.isnan(want)) | near
    return _first(got, want, np.flatnonzero(~good))


def _first(got: Array, want: Array, bad: Array) -> str:
    if not bad.size:
        return ""
    at = int(bad[0])
    pair = [hex(v) if np.issubdtype(v.dtype, np.integer) else repr(v) for v in (got[at], want[at])]
    return f"{bad.size} of {got.size} differ, first [{at}]: got {pair[0]}, expected {pair[1]}"
