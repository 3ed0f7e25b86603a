"""Contents of buffers: element types, init rules and files.

The same rules fill buffers from a launch table, from the command line and from test cases.
Seeded rules use one generator (32-bit): x0 = seed, x <- 1664525*x + 1013904223 mod 2^32,
output x XOR (x >> 16), one per element.

| rule | element i |
|---|---|
| zeros | 0 |
| fill(value) | value |
| arange(start=0, step=1) | start + i*step |
| values(v0, v1, ...) | the list, repeated |
| hex(bytes) | the bytes, repeated |
| lcg(seed) | raw bits; a 64-bit element takes two outputs, the high word first |
| lcg_mod(seed, mod, lo=0) | lo + output mod `mod` |
| lcg_real(seed, lo, hi) | lo + (hi-lo) * (output >> 8) / 2^24 in f64, rounded to the type |
| pointers(to, offsets) | device address of buffer `to` plus offsets[i] bytes |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.arguments import suggest
from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.reading import read_bytes

Array = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(code)
    for name, code in {
        "u8": "<u1",
        "i8": "<i1",
        "u16": "<u2",
        "i16": "<i2",
        "u32": "<u4",
        "i32": "<i4",
        "u64": "<u8",
        "i64": "<i8",
        "f16": "<f2",
        "f32": "<f4",
        "f64": "<f8",
    }.items()
}
"""Element types by the names a launch table uses."""

RULES: dict[str, tuple[tuple[str, ...], dict[str, object]]] = {
    "zeros": ((), {}),
    "fill": (("value",), {}),
    "arange": ((), {"start": 0, "step": 1}),
    "values": (("values",), {}),
    "hex": (("hex",), {}),
    "lcg": (("seed",), {}),
    "lcg_mod": (("seed", "mod"), {"lo": 0}),
    "lcg_real": (("seed", "lo", "hi"), {}),
    "pointers": (("to", "offsets"), {}),
}
"""Rule -> (required options, optional ones with their defaults), in positional order."""

LIST_OPTIONS = {"values": "values", "pointers": "offsets"}
"""Rule -> the option that takes the rest of its positional arguments."""

MAX_BUFFER_BYTES = 1 << 34
"""Largest buffer that a launch may ask for."""


@dataclass(frozen=True, slots=True)
class Init:
    """Where a buffer's first contents come from: a rule, a file, or an array.

    Attributes:
        rule: a key of `RULES`, or "file" or "array".
        options: the rule's options, complete.
        path: the file (".npy", anything else raw little-endian elements).
        array: the contents themselves.
        given: somebody said so; else the buffer is made without contents, which are zeros.
    """

    rule: str = "zeros"
    options: Mapping[str, Any] | None = None
    path: str | None = None
    array: Array | None = None
    given: bool = True


def dtype_of(name: str) -> np.dtype[Any]:
    """The element type of a name such as "f32".

    Raises:
        UsageError: no such type.
    """
    if name not in DTYPES:
        raise UsageError(f"unknown type '{name}'", hint=suggest(name, DTYPES))
    return DTYPES[name]


def dtype_name(dtype: np.dtype[Any]) -> str | None:
    """The name of a NumPy type, or None for one that a launch table cannot name."""
    little = dtype.newbyteorder("<")
    return next((name for name, known in DTYPES.items() if known == little), None)


def make_init(rule: str, options: Mapping[str, Any]) -> Init:
    """An init rule with its options checked and defaults filled in.

    Raises:
        UsageError: unknown rule or option, or a required option that is missing.
    """
    if rule not in RULES:
        raise UsageError(f"unknown init rule '{rule}'", hint=suggest(rule, RULES))
    required, optional = RULES[rule]
    for key in options:
        if key not in required and key not in optional:
            raise UsageError(
                f"init rule '{rule}' has no option '{key}'",
                hint=suggest(key, (*required, *optional)),
            )
    missing = [key for key in required if key not in options]
    if missing:
        raise UsageError(f"init rule '{rule}' needs {', '.join(missing)}")
    return Init(rule, {**optional, **options})


def lcg(seed: int, count: int) -> npt.NDArray[np.uint32]:
    """`count` outputs of the generator.

    x_i = a^i * seed + c * (1 + a + ... + a^(i-1)) mod 2^32, which unsigned 32-bit cumulative
    products and sums give directly.
    """
    powers = np.full(count, 1664525, np.uint32)
    np.cumprod(powers, out=powers)
    sums = np.ones(count, np.uint32)
    sums[1:] = powers[:-1]
    np.cumsum(sums, out=sums)
    state: npt.NDArray[np.uint32] = powers * np.uint32(seed & 0xFFFFFFFF)
    state += sums * np.uint32(1013904223)
    return state ^ (state >> np.uint32(16))


def check_size(dtype: np.dtype[Any], count: int, what: str) -> None:
    """Refuse sizes that no launch needs, before anything is allocated.

    Raises:
        UsageError: a negative or an absurd size.
    """
    if count < 0 or count * dtype.itemsize > MAX_BUFFER_BYTES:
        raise UsageError(f"{what}: {count} elements of {dtype.itemsize} bytes is out of range")


def make_array(
    dtype: str,
    count: int,
    init: Init,
    addresses: Mapping[str, int] | None = None,
    whose: str = "",
) -> Array:
    """A buffer's first contents.

    Args:
        dtype: element type by name.
        count: number of elements.
        init: where they come from.
        addresses: device addresses of the other buffers by name, for `pointers`.
        whose: the buffer's name, for messages.

    Returns:
        A one-dimensional array of `count` elements, which must not be written: it may be the
        caller's own.

    Raises:
        UsageError: a value that the type cannot hold, or a rule that does not fit.
        LoadError: a file that cannot be read or has another size.
    """
    kind = dtype_of(dtype)
    check_size(kind, count, f"{init.rule} buffer")
    if init.rule == "file":
        return _from_file(kind, count, str(init.path))
    if init.rule == "array":
        assert init.array is not None
        return np.ascontiguousarray(init.array).reshape(-1).view(kind)[:count]
    options = dict(init.options or {})
    try:
        return _MAKERS[init.rule](kind, count, options, addresses or {})
    except (TypeError, ValueError, OverflowError) as error:
        name = f"buffer {whose}: " if whose else ""
        raise UsageError(f"{name}init rule '{init.rule}' for {dtype}: {error}") from error


def _from_file(dtype: np.dtype[Any], count: int, path: str) -> Array:
    """Elements of a .npy or raw file, which must hold exactly `count`."""
    flat = load_file(path, dtype).reshape(-1)
    if flat.size != count:
        raise LoadError(f"holds {flat.size} elements, the buffer has {count}", path=path)
    return flat.astype(dtype)


def load_file(path: str, dtype: np.dtype[Any] | None) -> Array:
    """A .npy file as it is, any other file as raw elements of `dtype`.

    Raises:
        LoadError: it cannot be read, has objects in it, or is no whole number of elements.
        UsageError: a raw file without an element type.
    """
    try:
        if path.endswith(".npy"):
            array: Array = np.load(path, allow_pickle=False)
            if dtype is not None and array.dtype.newbyteorder("<") != dtype:
                raise LoadError(
                    f"holds {array.dtype} elements, the buffer has {dtype_name(dtype)}", path=path
                )
            return array
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"cannot be read: {reason}", path=path) from error
    data = read_bytes(path)
    if dtype is None:
        raise UsageError(f"{path}: a raw file needs an element type, such as f32[]@{path}")
    if len(data) % dtype.itemsize:
        raise LoadError(
            f"{len(data)} bytes are no whole number of {dtype_name(dtype)} elements", path=path
        )
    return np.frombuffer(data, dtype)


def _fill(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    return np.full(count, _elements(dtype, [o["value"]])[0], dtype)


def _arange(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    """`start + i * step`; of integers modulo the size of the type."""
    start, step = o["start"], o["step"]
    if dtype.kind == "f":
        made = np.asarray(np.arange(count) * step + start)
        _elements(dtype, [made[0].item(), made[-1].item()] if count else [])
        return made.astype(dtype)
    wide = np.uint64
    first, each = (wide(_whole(v, dtype) & 0xFFFFFFFFFFFFFFFF) for v in (start, step))
    steps = np.arange(count, dtype=wide) * each + np.full(count, first, wide)
    return steps.astype(f"<u{dtype.itemsize}").view(dtype)


def _values(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    listed = o["values"]
    if not isinstance(listed, list | tuple) or not listed:
        raise ValueError("needs at least one value")
    return np.resize(_elements(dtype, listed), count)


def _elements(dtype: np.dtype[Any], listed: Sequence[Any]) -> Array:
    """Numbers as elements of a type: rounded to floats, exact in integers, or refused.

    An integer above the signed range is taken as the same bits, as arguments are.
    """
    if dtype.kind == "f":
        given = np.array(listed, np.float64)
        with np.errstate(over="ignore"):
            made = given.astype(dtype)
        lost = np.isinf(made) & np.isfinite(given)
        if lost.any():
            raise ValueError(f"{given[lost][0]} is too large for it")
        return made
    bits = 8 * dtype.itemsize
    whole = [_whole(v, dtype) for v in listed]
    wrong = [v for v in whole if not -(1 << bits - 1) <= v < 1 << bits]
    if wrong:
        raise ValueError(f"{wrong[0]} does not fit in {bits} bits")
    words = np.array([v & (1 << bits) - 1 for v in whole], f"<u{dtype.itemsize}")
    return words.view(dtype)


def _whole(value: Any, dtype: np.dtype[Any]) -> int:
    """A number that is an integer, 3.0 included."""
    if int(value) != value:
        raise ValueError(f"{value} is no integer, as {dtype_name(dtype)} needs")
    return int(value)


def _hex(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    data = bytes.fromhex(str(o["hex"]))
    if not data:
        raise ValueError("needs at least one element of bytes")
    return np.resize(np.frombuffer(data, dtype), count).copy()


def _lcg(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    if dtype.itemsize == 8:
        words = lcg(int(o["seed"]), 2 * count).astype(np.uint64)
        return ((words[0::2] << np.uint64(32)) | words[1::2]).view(dtype)
    unsigned = np.dtype(f"<u{dtype.itemsize}")
    return lcg(int(o["seed"]), count).astype(unsigned).view(dtype)


def _lcg_mod(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    if int(o["mod"]) <= 0:
        raise ValueError("mod must be positive")
    outputs = lcg(int(o["seed"]), count).astype(np.int64)
    least, mod = o["lo"], _whole(o["mod"], dtype)
    if dtype.kind != "f":
        _elements(dtype, [least, least + mod - 1])
    return np.asarray(outputs % mod + least).astype(dtype)


def _lcg_real(dtype: np.dtype[Any], count: int, o: dict[str, Any], _a: Mapping[str, int]) -> Array:
    unit = (lcg(int(o["seed"]), count) >> np.uint32(8)).astype(np.float64) / float(1 << 24)
    lo, hi = o["lo"], o["hi"]
    return np.asarray(lo + (hi - lo) * unit).astype(dtype)


def _pointers(
    dtype: np.dtype[Any], count: int, o: dict[str, Any], addresses: Mapping[str, int]
) -> Array:
    target = str(o["to"])
    if target not in addresses:
        raise ValueError(f"no buffer '{target}' to point to")
    offsets = o["offsets"]
    if not isinstance(offsets, list | tuple) or not offsets:
        raise ValueError("needs at least one offset")
    base = addresses[target]
    listed = [base + int(offsets[i % len(offsets)]) for i in range(count)]
    return np.array(listed, np.uint64).astype(dtype)


_MAKERS = {
    "zeros": lambda dtype, count, _o, _a: np.zeros(count, dtype),
    "fill": _fill,
    "arange": _arange,
    "values": _values,
    "hex": _hex,
    "lcg": _lcg,
    "lcg_mod": _lcg_mod,
    "lcg_real": _lcg_real,
    "pointers": _pointers,
}
