"""Plugins of this process, and programs in the formats that they read.

The plugins are discovered once a process, by name only; a plugin's code is imported when
something of it is used.  A plugin's own defect becomes one error line that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpudbg.errors import GpudbgError, PluginError, place_of
from gpudbg.plugin import Entry, Registry, discover

if TYPE_CHECKING:
    from gpudbg.formats.program import Program


@lru_cache(maxsize=1)
def known_plugins() -> Registry:
    """The plugins of this process: bundled, installed, and of GPUDBG_PLUGIN_PATH."""
    return discover()


def call_plugin(entry: Entry, function: Callable[[], Any]) -> Any:
    """Run a plugin's code; its own defects become a `PluginError` that names it.

    Raises:
        GpudbgError: what the plugin raised for its user.
        PluginError: anything else.
    """
    try:
        return function()
    except GpudbgError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"plugin '{entry.plugin}' failed in {entry.name}: {type(error).__name__}: {error}"
            f"{place_of(error)}"
        ) from error


def read_foreign(data: bytes, path: str) -> Program | None:
    """A program in a format that a plugin reads, or None when none knows it.

    Raises:
        LoadError: a plugin knows the format, and the file is damaged.
        PluginError: a plugin's defect.
    """
    for entry in known_plugins().formats.values():
        reader = call_plugin(entry, entry.load)
        reader = call_plugin(entry, reader) if isinstance(reader, type) else reader
        if call_plugin(entry, lambda reader=reader: reader.sniff(data)):  # type: ignore[misc]
            found = call_plugin(entry, lambda reader=reader: reader.load(data, path))  # type: ignore[misc]
            return _as_program(entry, found, path)
    return None


def _as_program(entry: Entry, found: Any, path: str) -> Program:
    """What a format's `load` gave: a program, or a cubin's bytes."""
    from gpudbg.formats.cubin import read_cubin
    from gpudbg.formats.program import Program

    if isinstance(found, bytes | bytearray):
        return read_cubin(bytes(found), path)
    if not isinstance(found, Program):
        kind = type(found).__name__
        raise PluginError(f"plugin '{entry.plugin}': {entry.name} gave {kind}, no cubin's bytes")
    return found
