"""The compact text of arguments, buffers and outputs, for flags and for strings in TOML.

    ARG      what it passes
    i32:1000 f32:2.5 u64:0xff f32:nan      a scalar of that type
    1000  2.5                              a scalar of the parameter's width
    hex:0102030405060708                   a by-value struct, as its bytes in memory order
    x=f32[1000]:lcg_real(seed=11,lo=-4,hi=4)   the address of a new buffer "x"
    f32[1000]                              the same without a name (named "argN"), zeros
    x=f32[30,40]:arange(start=1,step=2)    several axes; the rule's options by name or place
    x=f32[100]@x.npy   x=f32[]@x.bin   x=@x.npy   contents from a .npy or raw file
    x    x+16                              the address of buffer "x", plus bytes
    img=texture.2d:f32[64,32](filter=linear,address=clamp):lcg_real(seed=1,lo=0,hi=1)
                                           the handle of a new texture: width first
    srf=surface.2d:u32[64,32](layout=block_linear)   the same for a surface, zeros
    a=tensor:f16[64,128](box=[16,64],swizzle=128):arange    a tensor map (CUtensorMap) of a new
                                           buffer "a"
    tensor:x(box=[16,32],type=tf32)        a tensor map of buffer "x"; options: those of
                                           `device.tensor_map`, and of im2col

Types: u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64.  Rules: `gpudbg.formats.initdata`.
Outputs: `y`, `y[0:16]`, `y/x` (hexadecimal).  Grid and block: `4`, `4,2`, `8x8x1`.

    arg       := [name "="] (scalar | buffer | image | tensor | file) | reference
    scalar    := type ":" number | "hex:" bytes | number
    buffer    := type "[" [count {"," count}] "]" contents
    image     := kind "." dim ":" type "[" counts "]" ["(" options ")"] contents
    tensor    := "tensor:" (type "[" counts "]" | name) "(" options ")" contents
    contents  := [":" rule ["(" option {"," option} ")"] | "@" path]
    file      := "@" path
    reference := name ["+" bytes]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpudbg.arguments import suggest
from gpudbg.dataclass import dataclass
from gpudbg.errors import GpudbgError, UsageError
from gpudbg.formats.initdata import (
    DTYPES,
    LIST_OPTIONS,
    RULES,
    Init,
    check_size,
    dtype_name,
    dtype_of,
    load_file,
    make_init,
)
from gpudbg.formats.launch import (
    IMAGE_DIMS,
    IMAGE_KINDS,
    IMAGE_OPTIONS,
    TENSOR_OPTIONS,
    Arg,
    BufferArg,
    BufferSpec,
    Dim3,
    ImageArg,
    ImageSpec,
    OutputSpec,
    ScalarArg,
    SymbolSpec,
    TensorArg,
    dim3,
)

_NAME = r"[A-Za-z_$][\w$.]*"
_TYPE = "|".join(DTYPES)
_NAMED = re.compile(rf"({_NAME})=(.*)", re.DOTALL)
_SCALAR = re.compile(rf"({_TYPE}):(.+)", re.DOTALL)
_BUFFER = re.compile(rf"({_TYPE})\[([^\]]*)\](.*)", re.DOTALL)
_IMAGE = re.compile(rf"([a-z]+)\.(\w+):({_TYPE})\[([^\]]*)\](\(([^)]*)\))?(.*)", re.DOTALL)
_TENSOR = re.compile(rf"tensor:(?:({_TYPE})(\[[^\]]*\])|({_NAME}))(\(([^)]*)\))?(.*)", re.DOTALL)
_REFERENCE = re.compile(rf"&?({_NAME})(?:\+(\w+))?")
_RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_OUTPUT = re.compile(rf"({_NAME})(?:\[(\d*):(\d*)\])?(?:/([a-z]))?")


@dataclass(frozen=True, slots=True)
class ArgText:
    """What one argument text means.

    Attributes:
        arg: the argument.
        buffer: the buffer that it declares, or None.
        image: the texture or surface that it declares, or None.
    """

    arg: Arg
    buffer: BufferSpec | None = None
    image: ImageSpec | None = None


@contextmanager
def of_flag(flag: str, value: str) -> Iterator[None]:
    """Errors of reading a command-line flag's value say which flag and value it was."""
    try:
        yield
    except GpudbgError as error:
        error.message = f"{flag} {value}: {error.message}"
        raise


def reference_in(value: str) -> str:
    """The buffer or image that an argument's value names (`x`, `&x`, `x+8`); "" for a value."""
    found = _REFERENCE.fullmatch(value)
    return found[1] if found is not None and parse_number(value) is None else ""


def parse_arg(text: str, index: int, folder: str = "") -> ArgText:
    """Read one argument.

    Args:
        text: as in the table above.
        index: the argument's position from 0, which names buffers without a name.
        folder: where relative paths start.

    Raises:
        UsageError: it cannot be read; names the text and what was expected.
        LoadError: a file that cannot be read.
    """
    text = text.strip()
    name, value = split_name(text)
    if name and _REFERENCE.fullmatch(value) and parse_number(value) is None:
        # Which argument it is to be says `gpudbg.formats.launch_args`; in a list its place does.
        raise _unreadable(text)
    return parse_value(name or f"arg{index}", value, folder)


def split_name(text: str) -> tuple[str, str]:
    """`NAME=VALUE` as its two parts; an empty name where there is none."""
    named = _NAMED.fullmatch(text.strip())
    return (named.group(1), named.group(2).strip()) if named else ("", text.strip())


def parse_value(name: str, value: str, folder: str = "") -> ArgText:
    """Read an argument without its name; a buffer or image that it declares gets the name.

    Raises:
        UsageError: it cannot be read.
        LoadError: a file that cannot be read.
    """
    if tensor := _TENSOR.fullmatch(value):
        return _tensor(name, tensor, folder)
    if image := _IMAGE.fullmatch(value):
        made = _image(name, image, folder)
        return ArgText(ImageArg(made.name), image=made)
    if value.startswith("@") or _BUFFER.fullmatch(value):
        buffer = parse_buffer(name, value, folder)
        return ArgText(BufferArg(buffer.name), buffer=buffer)
    if value.startswith("hex:"):
        return ArgText(ScalarArg("bytes", _hex(value[4:])))
    if scalar := _SCALAR.fullmatch(value):
        return ArgText(_scalar(*scalar.groups()))
    plain = parse_number(value)
    if plain is not None:
        return ArgText(ScalarArg("int" if isinstance(plain, int) else "float", plain))
    if reference := _REFERENCE.fullmatch(value):
        return ArgText(BufferArg(reference.group(1), _offset(reference.group(2), value)))
    raise _unreadable(value)


def _unreadable(text: str) -> UsageError:
    return UsageError(
        f"cannot read argument '{text}'",
        hint="forms: i32:5  f32:2.5  x=f32[100]:zeros  x=f32[100]@file.npy  x  hex:00ff  "
        "tensor:x(box=[16,16])",
    )


def parse_number(text: str) -> int | float | None:
    """An int in any base Python writes, or a float (nan, inf, hexadecimal too), or None."""
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float.fromhex(text) if "0x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        return None


def _offset(text: str | None, whole: str) -> int:
    """Bytes after a buffer reference."""
    number = parse_number(text or "0")
    if not isinstance(number, int):
        raise UsageError(f"cannot read the offset in '{whole}'")
    return number


def _hex(text: str) -> bytes:
    """Bytes written in hexadecimal."""
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise UsageError(f"'hex:{text}' is not pairs of hexadecimal digits") from error


def _scalar(dtype: str, text: str) -> ScalarArg:
    """A typed scalar; the value must fit."""
    number = parse_number(text.strip())
    if number is None:
        raise UsageError(f"'{text}' is no number, in argument '{dtype}:{text}'")
    scalar = ScalarArg(dtype, float(number) if dtype_of(dtype).kind == "f" else number)
    scalar.encode(dtype_of(dtype).itemsize)
    return scalar


def _counts(text: str, what: str) -> tuple[int, ...]:
    """Comma-separated element counts."""
    counts = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        number = parse_number(part)
        if not isinstance(number, int) or number < 0:
            raise UsageError(f"'{part}' is no element count, in '{what}'")
        counts.append(number)
    return tuple(counts)


def parse_buffer(name: str, text: str, folder: str = "") -> BufferSpec:
    """A buffer: `f32[100]:rule`, `f32[100]@file`, `f32[]@file`, `@file.npy`.

    Raises:
        UsageError: it cannot be read.
        LoadError: a file that cannot be read.
    """
    match = _BUFFER.fullmatch(text)
    if match is None and not text.startswith("@"):
        raise UsageError(f"cannot read buffer '{text}'", hint="such as f32[100]:zeros")
    dtype, counts, rest = match.groups() if match else (None, "", text)
    init = parse_contents(rest, folder)
    shape = _counts(counts, text)
    if init.rule == "file" and not shape:
        held = load_file(str(init.path), dtype_of(dtype) if dtype else None)
        found = dtype or dtype_name(held.dtype)
        if found is None:
            raise UsageError(f"{init.path}: {held.dtype} elements cannot go to the device")
        return BufferSpec(name, found, held.shape, init)
    if dtype is None or not shape:
        raise UsageError(f"buffer '{text}' has no size", hint="such as f32[100]")
    spec = BufferSpec(name, dtype, shape, init)
    check_size(dtype_of(dtype), spec.count, f"buffer '{text}'")
    return spec


def parse_contents(text: str, folder: str = "") -> Init:
    """`:rule(options)`, `@path` or nothing (zeros).

    Raises:
        UsageError: it cannot be read.
    """
    text = text.strip()
    if not text:
        return Init("zeros", {}, given=False)
    if text[0] == "@" and len(text) > 1:
        return Init("file", path=str(Path(folder) / text[1:]))
    if text[0] == ":":
        return parse_rule(text[1:])
    raise UsageError(f"expected ':rule' or '@file', not '{text}'")


def parse_rule(text: str) -> Init:
    """An init rule: `zeros`, `fill(3)`, `lcg_real(seed=11, lo=-4, hi=4)`, `values(1,2,3)`.

    Raises:
        UsageError: unknown rule or option, or a value that cannot be read.
    """
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"cannot read init rule '{text}'", hint="such as fill(3)")
    rule, inner = match.group(1), match.group(2) or ""
    if rule not in RULES:
        raise UsageError(f"unknown init rule '{rule}'", hint=suggest(rule, RULES))
    places = [*RULES[rule][0], *RULES[rule][1]]
    rest = LIST_OPTIONS.get(rule)
    options: dict[str, Any] = {}
    position = 0
    for part in _split(inner):
        key, equals, value = part.partition("=")
        if equals:
            options[key.strip()] = _option(value.strip(), rule, key.strip())
            continue
        if position >= len(places):
            raise UsageError(f"init rule '{rule}' takes {len(places)} options, in '{text}'")
        key = places[position]
        if key == rest:
            options.setdefault(key, []).append(_option(part, rule, "item"))
            continue
        options[key] = _option(part, rule, key)
        position += 1
    return make_init(rule, options)


def _split(text: str) -> list[str]:
    """Comma-separated parts; commas inside brackets do not separate."""
    parts = re.split(r",(?![^\[]*\])", text)
    return [p.strip() for p in parts if p.strip()]


def _option(text: str, rule: str, key: str) -> Any:
    """One option's value: a number, a list in brackets, or a word where the rule takes one."""
    if text.startswith("[") and text.endswith("]"):
        return [_option(p, rule, "item") for p in _split(text[1:-1])]
    if (rule, key) in (("hex", "hex"), ("pointers", "to")):
        return text
    number = parse_number(text)
    if number is None:
        raise UsageError(f"'{text}' is no number, for option '{key}' of init rule '{rule}'")
    return number


def _image(name: str, match: re.Match[str], folder: str) -> ImageSpec:
    """A texture or surface from its text."""
    kind, dim, dtype, size, _, options, rest = match.groups()
    given: dict[str, Any] = {}
    for part in _split(options or ""):
        key, _, value = part.partition("=")
        number = parse_number(value)
        given[key.strip()] = {"true": True, "false": False}.get(
            value.strip(), value.strip() if number is None else number
        )
    return make_image(name, kind, dim, dtype, _counts(size, match.group(0)),
                      parse_contents(rest, folder), given)  # fmt: skip


def _tensor(name: str, match: re.Match[str], folder: str) -> ArgText:
    """A tensor map from its text, and the buffer that it declares."""
    dtype, counts, known, _, inner, rest = match.groups()
    options: dict[str, Any] = {}
    for part in _split(inner or ""):
        key, _, value = part.partition("=")
        options[key.strip()] = _plain_option(value.strip())
    if known is not None:
        if rest.strip():
            raise UsageError(f"'{match[0]}': buffer '{known}' has its contents already")
        return ArgText(make_tensor(known, options))
    buffer = parse_buffer(name, f"{dtype}{counts}{rest}", folder)
    return ArgText(make_tensor(buffer.name, options), buffer)


def _plain_option(text: str) -> Any:
    """A number, a list of them in brackets, or a word."""
    if text.startswith("[") and text.endswith("]"):
        return [_plain_option(part) for part in _split(text[1:-1])]
    number = parse_number(text)
    return text if number is None else number


def make_tensor(buffer: str, options: Mapping[str, Any]) -> TensorArg:
    """A tensor map of a buffer whose options exist; the device says whether they fit.

    Raises:
        UsageError: an option that does not exist.
    """
    for key in options:
        if key not in TENSOR_OPTIONS:
            raise UsageError(f"a tensor map has no option '{key}'", suggest(key, TENSOR_OPTIONS))
    return TensorArg(buffer, dict(options))


def make_image(
    name: str,
    kind: str,
    dim: str,
    dtype: str,
    size: tuple[int, ...],
    init: Init,
    options: dict[str, Any],
) -> ImageSpec:
    """A checked texture or surface description.

    Raises:
        UsageError: unknown kind, dimension, option or value, or a size that does not fit.
    """
    for what, word, known in (("image kind", kind, IMAGE_KINDS), ("dimension", dim, IMAGE_DIMS)):
        if word not in known:
            raise UsageError(f"unknown {what} '{word}'", hint=suggest(word, known))
    rest = dict(options)
    bound = rest.pop("bind", "")
    for key, value in rest.items():
        if key not in IMAGE_OPTIONS:
            raise UsageError(
                f"{kind} has no option '{key}'", hint=suggest(key, [*IMAGE_OPTIONS, "bind"])
            )
        _check_option(key, value)
    axes = {"1d": 1, "1d_buffer": 1, "1d_array": 2, "2d": 2, "cube": 2}.get(dim, 3)
    if len(size) != axes or min(size, default=0) < 1:
        raise UsageError(f"a {dim} {kind} has {axes} sizes of at least 1, not {list(size)}")
    spec = ImageSpec(name, kind, dim, dtype, size, init, rest, str(bound))
    check_size(dtype_of(dtype), spec.count, f"{kind} '{name}'")
    return spec


def _check_option(key: str, value: Any) -> None:
    """Check one image option's value."""
    kind = IMAGE_OPTIONS[key]
    if isinstance(kind, tuple):
        if value not in kind:
            raise UsageError(f"option '{key}' is '{value}'", hint="one of: " + ", ".join(kind))
    elif isinstance(value, bool) is not (kind is bool):
        raise UsageError(f"option '{key}' must be {kind.__name__}, not {value!r}")
    elif not isinstance(value, (int, float) if kind is float else kind):
        raise UsageError(f"option '{key}' must be {kind.__name__}, not {value!r}")


def parse_symbol(text: str, folder: str = "") -> SymbolSpec:
    """A module-scope variable to set: `coef=f32[16]:arange` or `limit=i32:5`.

    Raises:
        UsageError: it cannot be read.
        LoadError: a file that cannot be read.
    """
    match = _NAMED.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"cannot read symbol '{text}'", hint="such as coef=f32[16]:zeros")
    name, value = match.group(1), match.group(2).strip()
    if scalar := _SCALAR.fullmatch(value):
        one = _scalar(*scalar.groups())
        return SymbolSpec(name, one.dtype, 1, make_init("fill", {"value": one.value}))
    buffer = parse_buffer(name, value, folder)
    return SymbolSpec(name, buffer.dtype, buffer.count, buffer.init)


def parse_output(text: str) -> OutputSpec:
    """An output to show: `y`, `y[0:16]`, `y[:8]/x`.

    Raises:
        UsageError: it cannot be read.
    """
    match = _OUTPUT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"cannot read output '{text}'", hint="such as y, y[0:16] or y/x")
    name, start, stop, letter = match.groups()
    return OutputSpec(name, int(start or 0), int(stop) if stop else None, letter or "")


def parse_dim3(text: str, what: str) -> Dim3:
    """Grid or block: `4`, `4,2`, `8x8x1`.

    Raises:
        UsageError: it cannot be read.
    """
    numbers = [parse_number(part.strip()) for part in re.split(r"[,x]", text)]
    if not all(isinstance(n, int) for n in numbers):
        raise UsageError(f"{what} '{text}' is not up to three integers", hint="such as 8,8")
    return dim3(numbers, what)


def parse_args(
    texts: Sequence[str], folder: str = ""
) -> tuple[tuple[Arg, ...], dict[str, BufferSpec], dict[str, ImageSpec]]:
    """The argument list of `--arg` flags.

    Returns:
        The arguments, and the buffers and images they declare.

    Raises:
        UsageError: one cannot be read, or two declare the same name.
        LoadError: a file that cannot be read.
    """
    args: list[Arg] = []
    buffers: dict[str, BufferSpec] = {}
    images: dict[str, ImageSpec] = {}
    for index, text in enumerate(texts):
        with of_flag("--arg", text):
            read = parse_arg(text, index, folder)
        for made in (read.buffer, read.image):
            if made is not None and (made.name in buffers or made.name in images):
                raise UsageError(f"two arguments are named '{made.name}'")
        if read.buffer:
            buffers[read.buffer.name] = read.buffer
        if read.image:
            images[read.image.name] = read.image
        args.append(read.arg)
    return resolve_references(args, images), buffers, images


def resolve_references(args: Sequence[Arg], images: Mapping[str, ImageSpec]) -> tuple[Arg, ...]:
    """References by name to images become handles; a name alone does not tell which it is."""
    return tuple(
        ImageArg(a.buffer) if isinstance(a, BufferArg) and a.buffer in images else a for a in args
    )
