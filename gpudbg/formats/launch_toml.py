"""The launch table as a TOML file, and flags laid over it.

    kernel = "saxpy"                 # may be left out when the program has one kernel
    grid = 4                         # an integer or up to three
    block = [64, 1, 1]
    cluster = 2                      # blocks of a cluster, from sm_90 on
    shared_bytes = 0                 # dynamic shared memory
    args = ["i32:1000", "f32:1.75", "x", "y"]     # text as on the command line, numbers, or
                                     # {type = "i32", value = 1000}, {buffer = "x", offset = 16},
                                     # {image = "img"}, {hex = "00ff"},
                                     # {tensor = "x", box = [16, 32], swizzle = 128}
    outputs = ["y[0:16]"]

    [buffers.x]
    type = "f32"
    count = 1000                     # or shape = [30, 40]
    init = "lcg_real(seed=11, lo=-4, hi=4)"       # or {rule = "lcg_real", seed = 11, ...}
    [buffers.y]
    file = "y.npy"                   # relative to this file; type and count are its own

    [images.img]
    kind = "texture"                 # or "surface"
    dim = "2d"
    type = "f32"
    size = [64, 32]                  # width first
    filter = "linear"                # any of `launch.IMAGE_OPTIONS`; bind = "NAME" binds a
                                     # texture or surface reference of the module
    [symbols.coef]
    type = "f32"
    count = 16
    init = "arange"

    [sm]
    arch = "sm_50"
    num_sms = 2
    seed = 0
    heap_bytes = 8388608
    stack_bytes = 1024

    [raw]                            # only for files of raw instruction words
    num_regs = 32
    num_barriers = 1
    params = [4, 4, 8, 8]
    shared_bytes = 0
    local_bytes = 0

`[trap]` and `[special]` are described in `launch_machine`.

Every mistake is one `UsageError` that names the file and, where it can be found, the line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from gpudbg.arguments import suggest
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats import launch_text as text
from gpudbg.formats.initdata import (
    Init,
    check_size,
    dtype_name,
    dtype_of,
    load_file,
    make_init,
)
from gpudbg.formats.launch import (
    IMAGE_OPTIONS,
    Arg,
    BufferArg,
    BufferSpec,
    Dim3,
    ImageArg,
    ImageSpec,
    Launch,
    RawSpec,
    ScalarArg,
    SmSpec,
    SymbolSpec,
    TensorArg,
    dim3,
)
from gpudbg.formats.launch_args import given_args
from gpudbg.formats.launch_machine import make_special, make_trap
from gpudbg.formats.program import SUPPORTED_ARCHS
from gpudbg.formats.reading import read_bytes
from gpudbg.options import OptionSpec, keys

MAX_FILE_BYTES = 1 << 24
_CONTENT_KEYS = ("type", "count", "shape", "init", "file")
_IMAGE_KEYS = ("kind", "dim", "type", "size", "init", "file", "bind", *IMAGE_OPTIONS)
_SM, _RAW = keys("sm"), keys("raw")
_TOP_KEYS = (*keys(""), "buffers", "images", "sm", "raw", "trap", "special")
_SHARED_BYTES = keys("")["shared_bytes"]


def beside(program: str | Path) -> Path | None:
    """The launch table that lies beside a program ("prog.toml" for "prog.bin"), or None."""
    path = Path(program).with_suffix(".toml")
    return path if path.is_file() and path != Path(program) else None


def read_launch(path: str | Path) -> Launch:
    """Read a launch table.

    Args:
        path: the TOML file.

    Raises:
        LoadError: it cannot be read.
        UsageError: it is no TOML or no launch table; names file and line.
    """
    name = str(path)
    data = read_bytes(path)
    if len(data) > MAX_FILE_BYTES:
        raise LoadError(f"{len(data)} bytes are too many for a launch table", path=name)
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LoadError("is no UTF-8 text", path=name, offset=error.start) from error
    return parse_launch(source, name, str(Path(path).parent))


MOST_DOTS = 64
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_DOTS}}}", re.ASCII)
"""What takes the parser time that grows with the square of the key."""


def parse_launch(source: str, path: str = "<launch>", folder: str = "") -> Launch:
    """Read a launch table from text.

    Args:
        source: the TOML.
        path: its name in messages.
        folder: where its relative paths start.

    Raises:
        UsageError: it is no TOML or no launch table; names file and line.
    """
    if deep := _DEEP_KEY.search(source):
        line = source.count("\n", 0, deep.start()) + 1
        raise UsageError(f"{path}:{line}: not TOML: a key of more than {MOST_DOTS} parts")
    try:
        table = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = f"{path}:{where.group(1)}" if where else path
        message = re.sub(r" \(at [^)]*\)$", "", str(error)) or "nested too deeply"
        raise UsageError(f"{place}: not TOML: {message}") from error
    return _Reader(source, path, folder).launch(table)


class _Reader:
    """Turns one parsed table into a `Launch`; knows where keys stand, for messages."""

    def __init__(self, source: str, path: str, folder: str) -> None:
        self.lines = source.splitlines()
        self.path = path
        self.folder = folder

    def launch(self, table: dict[str, Any]) -> Launch:
        """The whole table."""
        self.check_keys(table, _TOP_KEYS, ())
        buffers = {name: self.buffer(name, spec) for name, spec in self.tables(table, "buffers")}
        images = {name: self.image(name, spec) for name, spec in self.tables(table, "images")}
        symbols = {name: self.symbol(name, spec) for name, spec in self.tables(table, "symbols")}
        args = self.args(table.get("args", []), buffers, images)
        with self.at("trap"):
            trap = make_trap(self.table(table, "trap"), self.folder)
        with self.at("special"):
            special = make_special(self.table(table, "special"))
        with self.at("outputs"):
            outputs = tuple(text.parse_output(o) for o in self.strings(table, "outputs"))
        launch = Launch(
            args=args,
            buffers=MappingProxyType(buffers),
            images=MappingProxyType(images),
            symbols=MappingProxyType(symbols),
            outputs=outputs,
            sm=self.sm(self.table(table, "sm")),
            raw=self.raw(self.table(table, "raw")),
            trap=trap,
            special=special,
            source=self.path,
        )
        return launch.replaced(
            kernel=self.string(table, "kernel"),
            grid=self.dims(table, "grid"),
            block=self.dims(table, "block"),
            cluster=self.dims(table, "cluster"),
            shared_bytes=self.integer(table, _SHARED_BYTES),
        )

    # ---- places and messages -----------------------------------------------------------

    def line_of(self, keys: Sequence[str]) -> int | None:
        """The line where a key stands: the last of `keys` at or after its table's header."""
        whole = re.compile(rf"\s*\[\s*{_dotted(keys)}\s*[\].]")
        for number, line in enumerate(self.lines, 1):
            if whole.match(line):
                return number
        header = re.compile(rf"\s*\[\s*{_dotted(keys[:-1])}\s*\]")
        last = re.compile(rf"(\s*|.*[.,{{\s]){_dotted(keys[-1:])}\s*[=.]")
        inside = len(keys) == 1
        for number, line in enumerate(self.lines, 1):
            if header.match(line):
                inside = True
            elif inside and last.match(line):
                return number
        return None

    def error(self, message: str, keys: Sequence[str], hint: str | None = None) -> UsageError:
        """A mistake at a key."""
        line = self.line_of(keys) if keys else None
        place = f"{self.path}:{line}" if line else self.path
        return UsageError(f"{place}: {message}", hint)

    @contextmanager
    def at(self, *keys: str) -> Iterator[None]:
        """Name the place of mistakes found further down."""
        try:
            yield
        except UsageError as error:
            raise self.error(error.message, keys, error.hint) from error

    def check_keys(
        self, table: Mapping[str, Any], known: Sequence[str], where: tuple[str, ...]
    ) -> None:
        """Refuse keys that mean nothing."""
        for key in table:
            if key not in known:
                place = f"[{'.'.join(where)}]" if where else "the launch table"
                raise self.error(
                    f"unknown key '{key}' in {place}", (*where, key), suggest(key, known)
                )

    # ---- values by type ----------------------------------------------------------------

    def table(self, parent: Mapping[str, Any], key: str) -> dict[str, Any]:
        """A sub-table, empty when absent."""
        value = parent.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"'{key}' must be a table, such as [{key}]", (key,))
        return value

    def tables(self, parent: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
        """The named tables of `[key.NAME]`."""
        group = self.table(parent, key)
        for name, value in group.items():
            if not isinstance(value, dict | str):
                raise self.error(f"'{key}.{name}' must be a table or text", (key, name))
        return [(n, v if isinstance(v, dict) else {"": v}) for n, v in group.items()]

    def string(self, table: Mapping[str, Any], key: str) -> str | None:
        """A string, or None when absent."""
        value = table.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(f"'{key}' must be text, not {value!r}", (key,))
        return value

    def strings(self, table: Mapping[str, Any], key: str) -> list[str]:
        """A list of strings, empty when absent."""
        value = table.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
            raise self.error(f"'{key}' must be a list of texts", (key,))
        return items

    def integer(self, table: Mapping[str, Any], option: OptionSpec) -> int | None:
        """The integer of an option within its limits, or None when absent."""
        key, where = option.name, (option.table,) if option.table else ()
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"'{key}' must be an integer, not {value!r}", (*where, key))
        if not option.allows(value):
            words = f"'{key}' is {value}, must be {option.least} to {option.most}"
            raise self.error(words, (*where, key))
        return value

    def dims(self, table: Mapping[str, Any], key: str) -> tuple[int, int, int] | None:
        """Grid, block or cluster."""
        value = table.get(key)
        if value is None:
            return None
        with self.at(key):
            return text.parse_dim3(value, key) if isinstance(value, str) else dim3(value, key)

    # ---- parts -------------------------------------------------------------------------

    def buffer(self, name: str, spec: dict[str, Any]) -> BufferSpec:
        """[buffers.NAME]"""
        where = ("buffers", name)
        if "" in spec:
            with self.at(*where):
                return text.parse_buffer(name, spec[""], self.folder)
        self.check_keys(spec, _CONTENT_KEYS, where)
        with self.at(*where):
            return self.contents(name, spec, where)

    def contents(self, name: str, spec: dict[str, Any], where: tuple[str, ...]) -> BufferSpec:
        """Type, shape and first contents of a buffer or symbol."""
        init = self.init(spec, where)
        dtype = self.string(spec, "type")
        shape = spec.get("shape", spec.get("count"))
        if init.rule == "file" and shape is None:
            held = load_file(str(init.path), dtype_of(dtype) if dtype else None)
            shape, dtype = list(held.shape), dtype or dtype_name(held.dtype)
        if dtype is None or shape is None:
            raise UsageError(f"'{name}' needs {'type' if dtype is None else 'count'}")
        axes = shape if isinstance(shape, list) else [shape]
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in axes):
            raise UsageError(f"'{name}' has the size {shape!r}; give one or more integers")
        made = BufferSpec(name, dtype, tuple(axes), init)
        check_size(dtype_of(dtype), made.count, f"'{name}'")
        return made

    def init(self, spec: Mapping[str, Any], where: tuple[str, ...]) -> Init:
        """`init` or `file`."""
        file, init = spec.get("file"), spec.get("init")
        if file is not None:
            if not isinstance(file, str) or "init" in spec:
                raise UsageError("give either 'init' or 'file', as text")
            return Init("file", path=str(Path(self.folder) / file))
        if init is None:
            return Init("zeros", {}, given=False)
        if isinstance(init, dict):
            options = {k: v for k, v in init.items() if k != "rule"}
            return make_init(str(init.get("rule", "zeros")), options)
        if not isinstance(init, str):
            raise UsageError(f"'init' must be a rule, not {init!r}")
        return text.parse_rule(init)

    def image(self, name: str, spec: dict[str, Any]) -> ImageSpec:
        """[images.NAME]"""
        where = ("images", name)
        if "" in spec:
            raise self.error(f"'images.{name}' must be a table", where)
        self.check_keys(spec, _IMAGE_KEYS, where)
        with self.at(*where):
            missing = [k for k in ("kind", "dim", "type", "size") if k not in spec]
            if missing:
                raise UsageError(f"'{name}' needs {', '.join(missing)}")
            size = spec["size"] if isinstance(spec["size"], list) else [spec["size"]]
            if not all(isinstance(n, int) and not isinstance(n, bool) for n in size):
                raise UsageError(f"'{name}' has the size {spec['size']!r}; give integers")
            options = {k: v for k, v in spec.items() if k in IMAGE_OPTIONS or k == "bind"}
            words = [str(spec[k]) for k in ("kind", "dim", "type")]
            return text.make_image(
                name, words[0], words[1], words[2], tuple(size), self.init(spec, where), options
            )

    def symbol(self, name: str, spec: dict[str, Any]) -> SymbolSpec:
        """[symbols.NAME]"""
        where = ("symbols", name)
        with self.at(*where):
            if "" in spec:
                return text.parse_symbol(f"{name}={spec['']}", self.folder)
        self.check_keys(spec, _CONTENT_KEYS, where)
        with self.at(*where):
            made = self.contents(name, {"count": 1, **spec} if "shape" not in spec else spec, where)
        return SymbolSpec(name, made.dtype, made.count, made.init)

    def args(
        self, items: object, buffers: dict[str, BufferSpec], images: dict[str, ImageSpec]
    ) -> tuple[Arg, ...]:
        """`args`; buffers that texts declare are added to `buffers`."""
        if not isinstance(items, list):
            raise self.error("'args' must be a list", ("args",))
        made: list[Arg] = []
        for index, item in enumerate(items):
            with self.at("args"):
                made.append(self.arg(item, index, buffers, images))
        return text.resolve_references(made, images)

    def arg(
        self,
        item: object,
        index: int,
        buffers: dict[str, BufferSpec],
        images: dict[str, ImageSpec],
    ) -> Arg:
        """One argument."""
        match item:
            case bool() | int():
                return ScalarArg("int", int(item))
            case float():
                return ScalarArg("float", item)
            case {"hex": str(digits), **rest} if not rest:
                return text.parse_arg(f"hex:{digits}", index).arg
            case {"image": str(name), **rest} if not rest:
                return ImageArg(name)
            case {"buffer": str(name), **rest} if not rest:
                return BufferArg(name)
            case {"buffer": str(name), "offset": int(offset), **rest} if not rest:
                return BufferArg(name, offset)
            case {"tensor": str(name), **options}:
                return text.make_tensor(name, {str(k): v for k, v in options.items()})
            case {"type": str(kind), "value": int() | float() as value, **rest} if not rest:
                return text.parse_arg(f"{kind}:{value}", index).arg
            case str():
                read = text.parse_arg(item, index, self.folder)
                for made in (read.buffer, read.image):
                    if made is not None and (made.name in buffers or made.name in images):
                        raise UsageError(f"'{made.name}' is declared twice")
                if read.buffer is not None:
                    buffers[read.buffer.name] = read.buffer
                if read.image is not None:
                    images[read.image.name] = read.image
                return read.arg
        raise UsageError(
            f"cannot read argument {index}: {item!r}",
            'forms: "i32:5", 5, {type = "i32", value = 5}, {buffer = "x"}, {hex = "00ff"}, '
            '{tensor = "x", box = [16, 16]}',
        )

    def sm(self, spec: dict[str, Any]) -> SmSpec:
        """[sm]"""
        self.check_keys(spec, tuple(_SM), ("sm",))
        arch = self.string(spec, "arch")
        if arch is not None and arch not in SUPPORTED_ARCHS:
            raise self.error(
                f"unknown arch '{arch}'", ("sm", "arch"), suggest(arch, SUPPORTED_ARCHS)
            )
        return SmSpec(arch, **{k: self.integer(spec, o) for k, o in _SM.items() if k != "arch"})

    def raw(self, spec: dict[str, Any]) -> RawSpec:
        """[raw]"""
        self.check_keys(spec, tuple(_RAW), ("raw",))
        numbers = {k: self.integer(spec, o) for k, o in _RAW.items() if k != "params" and k in spec}
        params = spec.get("params")
        if params is None:
            return RawSpec(**numbers)  # type: ignore[arg-type]
        if not isinstance(params, list) or not all(
            isinstance(n, int) and not isinstance(n, bool) and 0 < n <= 4096 for n in params
        ):
            raise self.error("'params' must list the parameters' sizes in bytes", ("raw", "params"))
        return RawSpec(params=tuple(params), **numbers)  # type: ignore[arg-type]


def _dotted(keys: Sequence[str]) -> str:
    """A pattern for dotted keys as TOML can write them."""
    return r"\s*\.\s*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in keys)


def flag_launch(
    base: Launch | None = None,
    *,
    kernel: str | None = None,
    grid: str | None = None,
    block: str | None = None,
    cluster: str | None = None,
    shared_bytes: int | None = None,
    args: Sequence[str] = (),
    symbols: Sequence[str] = (),
    outputs: Sequence[str] = (),
    sm: SmSpec | None = None,
    raw: RawSpec | None = None,
    parameters: Sequence[str] | None = None,
) -> Launch:
    """Command-line flags over a launch table; a flag that is given wins.

    Args:
        base: the table beside the program, or None.
        kernel: --kernel.
        grid: --grid, such as "4" or "8,8".
        block: --block.
        cluster: --cluster.
        shared_bytes: --shared.
        args: every --arg in order: a whole list, or `NAME=VALUE` for some
            (`gpudbg.formats.launch_args`); they may name the table's buffers.
        symbols: every --symbol.
        outputs: every --output.
        sm: machine flags; fields that are None leave the table's.
        raw: description of raw words.
        parameters: names of the kernel's parameters; None where they are not known yet: names
            that the table does not know are then left for later.

    Raises:
        UsageError: a flag that cannot be read, or an argument or output that names nothing.
        LoadError: a file that cannot be read.
    """
    base = base or Launch(source="command line")
    called_with = given_args(base, args, parameters)
    given = [_read("--symbol", s, text.parse_symbol) for s in symbols]
    shown = [_read("--output", o, text.parse_output) for o in outputs]
    changed = base.replaced(
        kernel=kernel,
        grid=_size(grid, "grid"),
        block=_size(block, "block"),
        cluster=_size(cluster, "cluster"),
        shared_bytes=shared_bytes,
        args=called_with.args,
        buffers=called_with.buffers,
        images=called_with.images,
        symbols={s.name: s for s in given},
        outputs=tuple(shown) or None,
        raw=raw,
    )
    if sm is not None:
        old, new = changed.sm, sm
        fields = {k: getattr(new, k) if getattr(new, k) is not None else getattr(old, k)
                  for k in _SM}  # fmt: skip
        changed = changed.replaced(sm=SmSpec(**fields))
    whole = changed.replaced(args=text.resolve_references(changed.args, changed.images))
    flags = {text.reference_in(text.split_name(a)[1]): f"--arg {a}" for a in args}
    flags |= {o.buffer: f"--output {said}" for o, said in zip(shown, outputs, strict=True)}
    # What names of parameters stand for is not known before the program is.
    later = {text.split_name(a)[0] for a in args} if parameters is None else set()
    check_names(whole, flags, later)
    return whole


Read = TypeVar("Read")


def _read(flag: str, value: str, read: Callable[[str], Read]) -> Read:
    """A flag's value as `read` reads it; its errors name the flag."""
    with text.of_flag(flag, value):
        return read(value)


def _size(value: str | None, name: str) -> Dim3 | None:
    """--grid or --block; None where it is not given."""
    if value is None:
        return None
    return _read(f"--{name}", value, lambda words: text.parse_dim3(words, name))


def check_names(
    launch: Launch, flags: Mapping[str, str] | None = None, later: Collection[str | None] = ()
) -> None:
    """Check that arguments and outputs name buffers that the table has.

    Args:
        launch: the launch.
        flags: which command-line flag gave a name, where it was none of the table's.
        later: names of arguments that become buffers once the program is known.

    Raises:
        UsageError: a name that nothing declares.
    """
    flags = flags or {}
    known = [*launch.buffers, *launch.images]
    for arg in launch.args:
        name = arg.buffer if isinstance(arg, BufferArg | TensorArg) else None
        name = arg.image if isinstance(arg, ImageArg) else name
        if name is not None and name not in known:
            raise UsageError(
                f"{flags.get(name, launch.source)}: argument names '{name}', which is not declared",
                suggest(name, known) if known else None,
            )
    for output in launch.outputs:
        if output.buffer not in known and output.buffer not in later:
            raise UsageError(
                f"{flags.get(output.buffer, launch.source)}: output names '{output.buffer}', "
                "which is not declared",
                suggest(output.buffer, known) if known else None,
            )
