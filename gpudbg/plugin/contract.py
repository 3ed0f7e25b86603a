"""The types a plugin and gpudbg share: the descriptor, its entries, and what each kind calls.

Everything here is plain data or a `Protocol`; no module of gpudbg beyond `errors` is needed
to write a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, Protocol

from gpudbg.dataclass import dataclass
from gpudbg.errors import PluginError

API_VERSION = 1

#: What a plugin can add: table name in `plugin.toml` -> what the object at `call` is.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "decoders": "callable(argv, json) -> Decoded, for `gpudbg decode NAME`",
        "cli": "callable(argv) -> int, the verb `gpudbg NAME`",
        "commands": "callable(session, args) -> data, a console command",
        "views": "callable(snapshot, width) -> lines",
        "panes": "a Textual widget class, imported only by the terminal interface",
        "observers": "a class whose instances receive SM events",
        "memory_models": "callable(**config) -> MemoryModel: position <-> address",
        "register_files": "callable(**config) -> PluginRegisters: names and values",
        "isa": "an InstructionSet, for `gpudbg dis --isa NAME`",
        "formats": "a FileFormat: sniff(data) and load(data, path)",
    }
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder found.

    Args:
        data: JSON-able dict or list, printed by `--json`.
        lines: the same for people.
        exit_code: 0; 2 when `data` describes an input that is an error.
    """

    data: Any
    lines: Sequence[str]
    exit_code: int = 0


class Decoder(Protocol):
    """`gpudbg decode NAME ARGV...`; raises `gpudbg.errors.UsageError` on bad arguments."""

    def __call__(self, argv: list[str], json: bool) -> Decoded:
        """Decode `argv`; `json` tells which of data and lines will be shown."""
        ...


class Verb(Protocol):
    """`gpudbg NAME ARGV...`; prints to stdout and returns the exit code."""

    def __call__(self, argv: list[str]) -> int:
        """Run the verb."""
        ...


class CommandHandler(Protocol):
    """A console command; gets the debug session and the split arguments, returns plain data."""

    def __call__(self, session: Any, args: list[str]) -> Any:
        """Carry out the command."""
        ...


class View(Protocol):
    """State to lines: a pure function of a snapshot and a width in columns."""

    def __call__(self, snapshot: Any, width: int) -> Sequence[str]:
        """Draw."""
        ...


class MemoryModel(Protocol):
    """How one address space of a machine maps positions (who, what) to addresses."""

    def address_of(self, position: Any) -> int:
        """The address of a position; raises UsageError outside the allocation."""
        ...

    def position_of(self, address: int) -> Any:
        """Who and what lies at an address; raises UsageError outside the allocation."""
        ...


class PluginRegisters(Protocol):
    """A file of registers with views (halves, pairs, flags) by name."""

    def names(self) -> Sequence[str]:
        """Every register name, in print order."""
        ...

    def read(self, name: str) -> int:
        """The value of one register or view; raises UsageError on an unknown name."""
        ...

    def write(self, name: str, value: int) -> None:
        """Write one register or view."""
        ...


class InstructionSet(Protocol):
    """An instruction set that gpudbg can disassemble but not run."""

    def disassemble(self, data: bytes, address: int) -> Iterable[tuple[int, int, str]]:
        """(address, length in bytes, text) of each instruction of `data`, in order.

        Bytes that encode nothing are rows too, with text that says so.
        """
        ...


class FileFormat(Protocol):
    """A file format that gpudbg can open."""

    def sniff(self, data: bytes) -> bool:
        """Whether the first bytes look like this format; never raises."""
        ...

    def load(self, data: bytes, path: str) -> Any:
        """The parsed file; raises LoadError naming `path` and the offset."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing a plugin adds.

    Args:
        kind: a key of `KINDS`.
        name: what the user types (decoder, verb, command) or sees.
        call: `module:attribute`; the module is relative to the plugin's package for a folder
            plugin, absolute in a `Plugin` descriptor.
        help: one line.
        usage: the arguments, as the usage line prints them.
        plugin: owner; set by discovery.
        details: further string keys of the table (aliases, extensions).
        loader: imports the object; set by discovery.
    """

    kind: str
    name: str
    call: str
    help: str = ""
    usage: str = ""
    plugin: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    loader: Callable[[Entry], Any] | None = None

    def load(self) -> Any:
        """Import the plugin and give the object at `call`.

        Raises:
            PluginError: the module or attribute is missing or its import failed.
        """
        if self.loader is None:
            raise PluginError(f"{self.kind} entry '{self.name}' belongs to no registry")
        return self.loader(self)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin's descriptor, as an entry point may provide it or `plugin.toml` spells it."""

    name: str
    version: str
    summary: str
    entries: tuple[Entry, ...] = ()
    api: int = API_VERSION
