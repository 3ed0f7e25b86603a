"""Recordings (`.gpurec`): a launch with all its inputs, and what its user did, in one file.

The file is a header and named sections, little-endian, one behind the other:

    8 bytes   magic "gpurec\\r\\n"
    u16       version of the layout, `VERSION`
    u16       sections
    then of each section
      u16, n  bytes of its name, and the name (UTF-8)
      u64     bytes of its content
      u64     bytes that follow: the content, compressed with zlib (RFC 1950)
      16      BLAKE2b of the digest before it (16 zeros for the first), its name and its content

The section `launch` is a JSON object, a `RecordedLaunch`; others hold what it refers to by name.
Nothing in a recording is code of this host: it is read, checked and carried out on the emulated SM.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
import typing
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import construct as cs

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError
from gpudbg.formats.reading import RECORDING_MAGIC as MAGIC

VERSION: Final = 6
"""It rises with the file's layout, and where the state's hash comes to cover something else."""
MOST_BYTES: Final = 1 << 34
"""Largest believable content of all sections."""
_MOST_RATIO: Final = 1040
"""More than zlib can compress; a larger claim is a lie."""
_DIGEST: Final = 16
_UNSHOWN: Final = {
    n: "\N{REPLACEMENT CHARACTER}"
    for n in (*range(32), *range(127, 160))
    if chr(n) not in "\t\n\f\r"
}
"""Control characters, which a terminal would act on."""

_HEADER: Final = cs.Struct("magic" / cs.Bytes(8), "version" / cs.Int16ul, "sections" / cs.Int16ul)
_SECTION: Final = cs.Struct(
    "name" / cs.PascalString(cs.Int16ul, "utf8"),
    "size" / cs.Int64ul,
    "stored" / cs.Int64ul,
    "digest" / cs.Bytes(_DIGEST),
)


@dataclass(frozen=True, slots=True)
class RecordedMachine:
    """The emulated GPU: as the keywords of `gpudbg.Device`, and what launches before left.

    Attributes:
        launches: grids launched before.
        heap_used: bytes of the device heap that were out.
        trap_options: readings that hold, by name (`gpudbg.sm.trap.options`).
        on_fault: what becomes of accesses that must not happen, as the option has it.
        special: what special registers show, as a launch table's [special].
    """

    arch: str
    num_sms: int
    fixed_sms: bool
    seed: int
    quantum: int
    heap_bytes: int
    stack_bytes: int | None
    stack_entries: int | None
    engine: str
    launches: int
    heap_used: int
    trap_options: Mapping[str, Any]
    on_fault: str
    special: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedImages:
    """Where headers of textures and surfaces and their samplers are (`gpudbg.sm.images.pools`).

    Attributes:
        maximum_index, bank, samplers: as the pools have them.
        names: of headers, by index.
        disabled: indices of headers that are not to be used.
        pools: address of each kind's device memory, by kind.
    """

    maximum_index: int
    bank: int
    samplers: int
    names: Mapping[str, str]
    disabled: tuple[int, ...]
    pools: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RecordedWords:
    """What a file of raw instruction words does not say itself: as `formats.launch.RawSpec`."""

    num_regs: int
    num_barriers: int
    params: tuple[int, ...]
    shared_bytes: int
    local_bytes: int


@dataclass(frozen=True, slots=True)
class RecordedHandler:
    """A trap handler: the section with its program, its function, and its argument."""

    program: str
    name: str
    argument: int


@dataclass(frozen=True, slots=True)
class RecordedAllocation:
    """Device memory that was there when the launch began.

    Attributes:
        content: name of the section with its bytes.
        written: of one that was made without contents, the section with a bit for each byte that
            had been written; else None.
        heap: `malloc` of a kernel gave it.
    """

    base: int
    size: int
    name: str
    tag: str
    content: str
    written: str | None
    heap: bool


@dataclass(frozen=True, slots=True)
class RecordedArgument:
    """An argument of the launch.

    Attributes:
        value: the scalar, or the address in the buffer.
        base: address of the buffer, or None.
        dtype, shape: of the buffer's elements.
        output: it is shown at the end.
    """

    name: str
    value: Any
    base: int | None
    dtype: str
    shape: tuple[int, ...]
    output: bool


@dataclass(frozen=True, slots=True)
class RecordedMove:
    """A call that advanced the launch; attributes as those of `gpudbg.sm.moves.Move`.

    Attributes:
        options: those that were other than the machine's, by name.
    """

    kind: str
    who: tuple[int, ...]
    through: bool
    driven: tuple[tuple[int, ...], ...]
    stop_on_entry: bool
    options: Mapping[str, Any]
    goes_on: bool
    before: int
    after: int
    stop_kind: str
    single: bool
    left: tuple[tuple[int, ...], ...] | None


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """What was changed from outside between two moves.

    Attributes:
        moves, tick: where: moves and warp instructions before.
        values: parts of the state that are numbers, by name, as they were afterwards.
        pieces: parts that are bytes: (name, offset, section with the bytes).
        handler: a trap handler that was installed first, or None.
        removed: the trap handler was taken away first.
        hash: the state's hash afterwards.
    """

    moves: int
    tick: int
    values: Mapping[str, int]
    pieces: tuple[tuple[str, int, str], ...]
    handler: RecordedHandler | None
    removed: bool
    hash: str


@dataclass(frozen=True, slots=True)
class RecordedBranch:
    """A way the launch was led on: `gpudbg.debug.history.branches`.

    Attributes:
        number, name: what it is called.
        parent, begins_at: the branch it began on, and the tick there; None for the launch itself.
        left: moves and tick where another one began on it first; None where none did.
        moves, edits: what was done on it, from the launch on.
        end: hash of the state at its end.
        end_tick: warp instructions at its end.
    """

    number: int
    name: str
    parent: int | None
    begins_at: int | None
    left: tuple[int, int] | None
    moves: tuple[RecordedMove, ...]
    edits: tuple[RecordedEdit, ...]
    end: str
    end_tick: int


@dataclass(frozen=True, slots=True)
class RecordedBookmark:
    """A tick with a name, a note, or both."""

    tick: int
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """Everything a launch is made of, and what was done with it.

    Attributes:
        version: of gpudbg.
        program: the file's name, for messages; the section `program` has its bytes.
        raw: of a file of instruction words, what those do not say; else None.
        images: of the device, that textures and surfaces are found by.
        bound: handles of what is bound to the program's texture and surface references, by name.
        handler: the trap handler at the beginning, or None.
        next_handler: the one that later launches have, or None.
        sources: source texts by name: the section with each.
        marks: source lines of assembled text (`gpudbg.formats.program.Program.marks`).
        segments: addresses of the program's memory segments by name.
        next_address: where the device's next allocation was to begin.
        kernel, grid, block, cluster, shared_bytes, params: the launch; the last in hexadecimal.
        outputs: what is shown at the end, as `gpudbg.formats.launch.OutputSpec`.
        begin: hash of the state at the beginning.
        followed: the branch that is followed, at whose end the recording opens.
        others: the other branches.
    """

    version: str
    program: str
    raw: RecordedWords | None
    images: RecordedImages
    bound: Mapping[str, int]
    handler: RecordedHandler | None
    next_handler: RecordedHandler | None
    machine: RecordedMachine
    sources: Mapping[str, str]
    marks: Mapping[str, tuple[tuple[int, int], ...]]
    segments: Mapping[str, int]
    next_address: int
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] | None
    shared_bytes: int
    params: str
    arguments: tuple[RecordedArgument, ...]
    outputs: tuple[tuple[str, int, int | None, str], ...]
    allocations: tuple[RecordedAllocation, ...]
    bookmarks: tuple[RecordedBookmark, ...]
    begin: str
    followed: RecordedBranch
    others: tuple[RecordedBranch, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in memory.

    Attributes:
        launch: what was recorded.
        sections: the bytes that it refers to, by name.
        path: where it came from.
    """

    launch: RecordedLaunch
    sections: Mapping[str, bytes]
    path: str = "<recording>"

    def section(self, name: str) -> bytes:
        """The bytes of a section of the file.

        Raises:
            LoadError: there is none.
        """
        found = self.sections.get(name)
        if found is None:
            raise LoadError(f"has no section {name!r}", path=self.path)
        return found


# ---- writing ---------------------------------------------------------------------------
def encode(recording: Recording) -> bytes:
    """The file's bytes."""
    text = json.dumps(dataclasses.asdict(recording.launch), separators=(",", ":"))
    sections = {"launch": text.encode(), **recording.sections}
    out = [_HEADER.build({"magic": MAGIC, "version": VERSION, "sections": len(sections)})]
    digest = bytes(_DIGEST)
    for name, content in sections.items():
        digest = _digest(digest, name, content)
        stored = zlib.compress(content, 6)
        header = {"name": name, "size": len(content), "stored": len(stored), "digest": digest}
        out += [_SECTION.build(header), stored]
    return b"".join(out)


def _digest(before: bytes, name: str, content: bytes) -> bytes:
    made = hashlib.blake2b(before, digest_size=_DIGEST)
    made.update(name.encode())
    made.update(content)
    return made.digest()


# ---- reading ---------------------------------------------------------------------------
def decode(data: bytes, path: str) -> Recording:
    """A recording from a file's bytes.

    Raises:
        LoadError: it is damaged, of another version, or no recording; names the offset.
    """
    try:
        header = _HEADER.parse(data)
    except cs.ConstructError:
        raise LoadError("ends in its header", path=path, offset=len(data)) from None
    if header.magic != MAGIC:
        raise LoadError("is no recording", path=path, offset=0)
    if header.version != VERSION:
        raise LoadError(
            f"is a recording of layout {header.version}; this version reads {VERSION}",
            path=path,
            offset=len(MAGIC),
            hint="the gpudbg that wrote it reads it",
        )
    sections, at, digest, total = {}, _HEADER.sizeof(), bytes(_DIGEST), 0
    for _ in range(header.sections):
        name, size, stored, wanted, start = _section_header(data, at, path)
        total += size
        if total > MOST_BYTES or size > stored * _MOST_RATIO + 64:
            raise LoadError(f"section {name!r} claims {size:,} bytes", path=path, offset=at)
        content = _unpacked(data[start : start + stored], size, name, path, start)
        digest = _digest(digest, name, content)
        if digest != wanted:
            raise LoadError(f"section {name!r} is damaged: its hash differs", path=path, offset=at)
        if name in sections:
            raise LoadError(f"has two sections {name!r}", path=path, offset=at)
        sections[name] = content
        at = start + stored
    if at != len(data):
        raise LoadError("has bytes behind its last section", path=path, offset=at)
    text = sections.pop("launch", None)
    if text is None:
        raise LoadError("has no section 'launch'", path=path)
    return Recording(_launch(text, path), sections, path)


def _section_header(data: bytes, at: int, path: str) -> tuple[str, int, int, bytes, int]:
    try:
        # Names are short: whatever a damaged length says, no more is looked at.
        head = _SECTION.parse(data[at : at + 512])
    except (cs.ConstructError, UnicodeError):
        raise LoadError("has no whole section header", path=path, offset=at) from None
    start = at + 2 + len(head.name.encode()) + 16 + _DIGEST
    if start + head.stored > len(data):
        raise LoadError(f"ends inside section {head.name!r}", path=path, offset=len(data))
    return head.name, head.size, head.stored, head.digest, start


def _unpacked(stored: bytes, size: int, name: str, path: str, at: int) -> bytes:
    unpack = zlib.decompressobj()
    try:
        content = unpack.decompress(stored, size + 1)
    except zlib.error as error:
        raise LoadError(
            f"section {name!r} does not decompress: {error}", path=path, offset=at
        ) from None
    if len(content) != size or not unpack.eof or unpack.unused_data:
        raise LoadError(f"section {name!r} has not the size it claims", path=path, offset=at)
    return content


def _launch(text: bytes, path: str) -> RecordedLaunch:
    try:
        made = _typed(json.loads(text), RecordedLaunch, "launch")
    except (ValueError, RecursionError) as error:
        raise LoadError(f"section 'launch': {error}", path=path) from None
    assert isinstance(made, RecordedLaunch)
    return made


def _typed(value: Any, wanted: Any, where: str) -> Any:
    """A JSON value as a type says; ValueError where it is something else."""
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return value
    if origin is types.UnionType:
        if value is None and types.NoneType in parts:
            return None
        return _typed(value, next(part for part in parts if part is not types.NoneType), where)
    if origin is tuple:
        return _tuple(value, parts, where)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise ValueError(f"{where} is no object")
        return {
            harmless(key): _typed(found, parts[1], f"{where}.{key}") for key, found in value.items()
        }
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
        return _record(value, wanted, where)
    if type(value) is not wanted:
        raise ValueError(f"{where} is no {wanted.__name__}")
    return harmless(value) if wanted is str else value


def harmless(text: str) -> str:
    """A text of a file that somebody else may have made, as it can be shown on a terminal."""
    return text if text.isprintable() else text.translate(_UNSHOWN)


def _tuple(value: Any, parts: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{where} is no list")
    kinds = [parts[0]] * len(value) if parts[-1] is ... else list(parts)
    if len(kinds) != len(value):
        raise ValueError(f"{where} has {len(value)} elements, not {len(kinds)}")
    return tuple(
        _typed(v, k, f"{where}[{n}]") for n, (v, k) in enumerate(zip(value, kinds, strict=True))
    )


def _record(value: Any, wanted: type, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")
    hints = _hints(wanted)
    if set(value) != set(hints):
        odd = sorted(set(value) ^ set(hints))
        raise ValueError(f"{where}: {odd[0]!r} is missing or unknown")
    return wanted(
        **{name: _typed(value[name], hint, f"{where}.{name}") for name, hint in hints.items()}
    )


@cache
def _hints(wanted: type) -> dict[str, Any]:
    """The types of a record's fields; a recording has thousands of some records."""
    return typing.get_type_hints(wanted)
