"""The plugin contract: what a package or folder can add to gpudbg, and how it is found.

A plugin is a folder with a `plugin.toml` (or an installed package with an entry point in the
group `gpudbg.plugins`).  The table names what the plugin adds; its code is imported only when
one of those things is used.  Three costs: `discover()` reads names, `Entry.load()` imports one
plugin, `Registry.load_all()` imports everything.

Plugins import this module, `gpudbg.errors` and `gpudbg.bits`, nothing else of gpudbg.
"""

from __future__ import annotations

from gpudbg.plugin.arguments import (
    Arguments,
    Option,
    decoder,
    one_of,
    parse_arguments,
    parse_int,
    text,
    unsigned,
)
from gpudbg.plugin.contract import (
    API_VERSION,
    KINDS,
    CommandHandler,
    Decoded,
    Decoder,
    Entry,
    FileFormat,
    InstructionSet,
    MemoryModel,
    Plugin,
    PluginRegisters,
    Verb,
    View,
)
from gpudbg.plugin.discovery import ENTRY_POINT_GROUP, PATH_VARIABLE, discover
from gpudbg.plugin.registry import PluginInfo, Registry, run_decoder

__all__ = [
    "API_VERSION",
    "ENTRY_POINT_GROUP",
    "KINDS",
    "PATH_VARIABLE",
    "Arguments",
    "CommandHandler",
    "Decoded",
    "Decoder",
    "Entry",
    "FileFormat",
    "InstructionSet",
    "MemoryModel",
    "Option",
    "Plugin",
    "PluginInfo",
    "PluginRegisters",
    "Registry",
    "Verb",
    "View",
    "decoder",
    "discover",
    "one_of",
    "parse_arguments",
    "parse_int",
    "run_decoder",
    "text",
    "unsigned",
]


def __getattr__(name: str) -> object:
    """Names that other names have replaced: each works, with a warning, for two releases."""
    if name == "RegisterFile":
        import warnings

        warnings.warn(
            "gpudbg.plugin.RegisterFile is gpudbg.plugin.PluginRegisters", DeprecationWarning, 2
        )
        return PluginRegisters
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
