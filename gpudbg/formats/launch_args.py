"""Arguments that flags give over those of a launch table: all of them, or some by name.

`--arg i32:4 --arg x=f32[8]` is a whole list.  Where every text is `NAME=VALUE` and every name is
one of the kernel's arguments, each replaces that argument and the rest stay as they were.  An
argument goes by its parameter's name in the source, by the table's buffer or image that it is,
and by `arg0`, `arg1`, ….
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpudbg.arguments import suggest
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats import launch_text as text
from gpudbg.formats.launch import (
    Arg,
    BufferArg,
    BufferSpec,
    ImageArg,
    ImageSpec,
    Launch,
    TensorArg,
    missing_arguments,
)


@dataclass(frozen=True, slots=True)
class GivenArgs:
    """What the texts make of an argument list.

    Attributes:
        args: the whole list; None where the texts cannot be placed before the parameters are
            known.
        buffers, images: what the texts declare, by name.
    """

    args: tuple[Arg, ...] | None
    buffers: Mapping[str, BufferSpec] = field(default_factory=dict)
    images: Mapping[str, ImageSpec] = field(default_factory=dict)


def given_args(
    base: Launch, texts: Sequence[str], parameters: Sequence[str] | None = None
) -> GivenArgs:
    """Lay argument texts over a table's arguments.

    Args:
        base: the table.
        texts: every `--arg` in order.
        parameters: the names of the kernel's parameters; None where the program has not been
            read yet, so that only what the table itself says is known.

    Raises:
        UsageError: a text that cannot be read, an unknown name, or arguments that nothing gives.
        LoadError: a file that cannot be read.
    """
    if not texts:
        return GivenArgs(base.args or None)
    pairs = [text.split_name(t) for t in texts]
    named = all(name for name, _ in pairs)
    count = len(base.args) if parameters is None else len(parameters)
    places = _places(base, parameters or (), count)
    if named and all(name in places for name, _ in pairs):
        return _replaced(base, pairs, places, count, parameters)
    if parameters is not None and named and len(texts) != count:
        unknown, value = next(pair for pair in pairs if pair[0] not in places)
        with text.of_flag("--arg", f"{unknown}={value}"):
            hint = suggest(unknown, list(parameters))
            raise UsageError(f"no argument is called '{unknown}'", hint)
    if parameters is None and named:
        for name, value in pairs:
            with text.of_flag("--arg", f"{name}={value}"):
                text.parse_value(name, value)
        return GivenArgs(None)
    return GivenArgs(*text.parse_args(texts))


def _places(base: Launch, parameters: Sequence[str], count: int) -> dict[str, int]:
    """Every name that an argument goes by -> its position."""
    out: dict[str, int] = {f"arg{n}": n for n in range(count)}
    for n, arg in enumerate(base.args[:count]):
        match arg:
            case BufferArg(buffer=name) | ImageArg(image=name) | TensorArg(buffer=name):
                out.setdefault(name, n)
    return out | {name: n for n, name in enumerate(parameters)}


def _replaced(
    base: Launch,
    pairs: Sequence[tuple[str, str]],
    places: Mapping[str, int],
    count: int,
    parameters: Sequence[str] | None,
) -> GivenArgs:
    """The table's arguments with those of these names replaced; a later text wins."""
    args: list[Arg | None] = [*base.args[:count], *([None] * (count - len(base.args)))]
    buffers: dict[str, BufferSpec] = {}
    images: dict[str, ImageSpec] = {}
    for name, value in pairs:
        with text.of_flag("--arg", f"{name}={value}"):
            read = text.parse_value(name, value)
        args[places[name]] = read.arg
        if read.buffer is not None:
            buffers[name] = read.buffer
        if read.image is not None:
            images[name] = read.image
    missing = [n for n, arg in enumerate(args) if arg is None]
    if missing:
        names = parameters or [f"arg{n}" for n in range(count)]
        raise missing_arguments([names[n] for n in missing])
    whole = [arg for arg in args if arg is not None]
    known = {**base.images, **images}
    return GivenArgs(text.resolve_references(whole, known), buffers, images)
