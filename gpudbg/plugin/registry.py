"""The registry: everything the discovered plugins add, loaded one thing at a time."""

from __future__ import annotations

import json as json_module
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.errors import EXIT_GAP, GpudbgError, PluginError, UsageError, place_of
from gpudbg.plugin.contract import API_VERSION, KINDS, Decoded, Entry, Plugin


@dataclass(slots=True)
class PluginInfo:
    """One line of `gpudbg plugins`.

    Args:
        name: the plugin's name.
        version: as the plugin states it.
        source: `bundled`, `installed` or `path`.
        summary: one line.
        location: folder or distribution.
        adds: `kind: names`; empty for an installed plugin not yet loaded.
        state: `listed`, `loaded` or `broken`.
        warning: what is wrong, or None.
    """

    name: str
    version: str
    source: str
    summary: str = ""
    location: str = ""
    adds: dict[str, list[str]] = field(default_factory=dict)
    state: str = "listed"
    warning: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON-able dict."""
        return {key: getattr(self, key) for key in PluginInfo.__slots__}

    def line(self) -> str:
        """The same as one line."""
        adds = "; ".join(f"{kind} {', '.join(names)}" for kind, names in self.adds.items())
        tail = f"  warning: {self.warning}" if self.warning else ""
        return f"{self.name} {self.version} ({self.source}, {self.state}): {adds or '-'}{tail}"


class Registry:
    """What the plugins add: one dict a kind, name -> `Entry`; `decoders` and so on read them."""

    def __init__(self) -> None:
        self.infos: dict[str, PluginInfo] = {}
        self.warnings: list[str] = []
        self.entries: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        self._pending: dict[str, Callable[[], Plugin]] = {}
        self._importers: dict[str, Callable[[str], Any]] = {}

    def __getattr__(self, kind: str) -> dict[str, Entry]:
        """`registry.decoders`, `.commands`, `.views`, ...: the entries of one kind by name."""
        if kind in KINDS:
            return self.entries[kind]
        raise AttributeError(kind)

    @property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """Every plugin found, in discovery order, broken ones included."""
        return tuple(self.infos.values())

    @property
    def cli_verbs(self) -> dict[str, Entry]:
        """The verbs plugins add to the command line."""
        return self.entries["cli"]

    def warn(self, message: str, plugin: str | None = None) -> None:
        """Keep a warning; it is shown, never raised."""
        self.warnings.append(message)
        if plugin in self.infos:
            self.infos[plugin].warning = message

    def add(self, plugin: Plugin, info: PluginInfo, importer: Callable[[str], Any]) -> None:
        """Register a plugin and its entries; a clash of names is a warning.

        A plugin of the same name as an earlier one replaces it.  An entry whose name another
        plugin holds stays reachable as `PLUGIN:NAME`.

        Args:
            plugin: the descriptor.
            info: the line of the listing.
            importer: imports a module of the plugin by the name its entries use.
        """
        if plugin.api > API_VERSION:
            info.state, info.adds = "broken", {}
            self.infos[info.name] = info
            self.warn(
                f"plugin '{plugin.name}' needs contract version {plugin.api}; this gpudbg has "
                f"{API_VERSION}",
                info.name,
            )
            return
        self._replace(plugin.name, info)
        self._importers[plugin.name] = importer
        for entry in plugin.entries:
            self._add_entry(plugin, info, entry)

    def _replace(self, name: str, info: PluginInfo) -> None:
        old = self.infos.get(name)
        self.infos[name] = info
        if old is None or old.location == info.location:
            return
        for table in self.entries.values():
            for key in [key for key, entry in table.items() if entry.plugin == name]:
                del table[key]
        self._pending.pop(name, None)
        self.warn(f"plugin '{name}' of {info.location} replaces that of {old.location}", name)

    def _add_entry(self, plugin: Plugin, info: PluginInfo, entry: Entry) -> None:
        if entry.kind not in KINDS:
            self.warn(f"plugin '{plugin.name}' adds unknown kind '{entry.kind}'", plugin.name)
            return
        bound = Entry(
            entry.kind, entry.name, entry.call, entry.help, entry.usage, plugin.name,
            entry.details, self._load_entry,
        )  # fmt: skip
        table = self.entries[entry.kind]
        key = entry.name
        if key in table and table[key].plugin != plugin.name:
            key = f"{plugin.name}:{entry.name}"
            self.warn(
                f"plugin '{plugin.name}': {entry.kind} '{entry.name}' is taken by plugin "
                f"'{table[entry.name].plugin}'; it is reachable as '{key}'",
                plugin.name,
            )
        table[key] = bound
        info.adds.setdefault(entry.kind, []).append(key)

    def add_pending(self, info: PluginInfo, load: Callable[[], Plugin]) -> None:
        """Register an installed plugin whose descriptor needs an import to be read."""
        self._replace(info.name, info)
        self._pending[info.name] = load

    def _load_entry(self, entry: Entry) -> Any:
        module_name, _, attribute = entry.call.partition(":")
        module = self.import_module(entry.plugin, module_name)
        found: Any = module
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise self._broken(
                    entry.plugin, f"'{entry.call}' of {entry.kind} '{entry.name}' does not exist"
                )
            found = getattr(found, part)
        return found

    def import_module(self, plugin: str, module: str) -> Any:
        """Import one module of a plugin.

        Raises:
            PluginError: no such plugin, or its import failed; the listing then says so.
        """
        importer = self._importers.get(plugin)
        if importer is None:
            raise PluginError(f"no plugin '{plugin}'", "gpudbg plugins lists them")
        try:
            found = importer(module)
        except (Exception, SystemExit) as error:  # a plugin's code may raise anything
            reason = f"{type(error).__name__}: {error}{place_of(error)}"
            raise self._broken(plugin, reason) from error
        self.infos[plugin].state = "loaded"
        return found

    def _broken(self, plugin: str, reason: str) -> PluginError:
        message = f"plugin '{plugin}' does not load: {reason}"
        if plugin in self.infos:
            self.infos[plugin].state = "broken"
        self.warn(message, plugin)
        return PluginError(message)

    def load_pending(self) -> None:
        """Read the descriptors that need an import; failures become warnings."""
        for name, load in list(self._pending.items()):
            del self._pending[name]
            try:
                descriptor = load()
            except (Exception, SystemExit) as error:  # as above
                self._broken(name, f"{type(error).__name__}: {error}")
                continue
            info = self.infos[name]
            info.summary = descriptor.summary or info.summary
            info.version = descriptor.version or info.version
            info.state = "loaded"
            if descriptor.name != name:
                descriptor = Plugin(
                    name, descriptor.version, descriptor.summary, descriptor.entries, descriptor.api
                )
            self.add(descriptor, info, _import_absolute)

    def load_all(self) -> list[str]:
        """Import everything; gives the warnings that arose."""
        before = len(self.warnings)
        self.load_pending()
        for table in self.entries.values():
            for entry in list(table.values()):
                try:
                    entry.load()
                except PluginError:
                    continue  # kept as a warning by _broken
        return self.warnings[before:]

    def find(self, kind: str, name: str) -> Entry:
        """The entry of that name; imports pending descriptors only when none is known.

        Raises:
            UsageError: no plugin adds it.
        """
        entry = self.lookup(kind, name)
        if entry is None:
            known = ", ".join(sorted(self.entries[kind])) or "none"
            raise UsageError(f"'{name}' is not among the {kind}", f"known: {known}")
        return entry

    def lookup(self, kind: str, name: str) -> Entry | None:
        """Like `find`, but None when no plugin adds it."""
        table = self.entries[kind]
        if name not in table:
            self.load_pending()
        return table.get(name)

    def run_decoder(self, name: str, argv: Sequence[str], json: bool = False) -> tuple[int, str]:
        """Run one decoder.

        Args:
            name: as in `gpudbg decode NAME`.
            argv: the words after it; `-h` or `--help` gives the usage.
            json: the text is JSON.

        Returns:
            Exit code and the text to print: the result, or one line saying what is wrong.
        """
        words = list(argv)
        if "--json" in words:
            words.remove("--json")
            json = True
        try:
            entry = self.find("decoders", name)
            call = entry.load()
            if {"-h", "--help"} & set(words):
                return 0, "\n".join(_help(entry, call))
            return _render(entry, call(words, json), json)
        except GpudbgError as error:
            return error.exit_code, f"gpudbg decode {name}: {error}"
        except (Exception, SystemExit) as error:  # a plugin's defect is reported, never a traceback
            return EXIT_GAP, (
                f"gpudbg decode {name}: plugin '{entry.plugin}' failed: "
                f"{type(error).__name__}: {error}{place_of(error)}"
            )


def _render(entry: Entry, found: Any, json: bool) -> tuple[int, str]:
    if not isinstance(found, Decoded):
        return EXIT_GAP, (
            f"gpudbg decode {entry.name}: plugin '{entry.plugin}' returned "
            f"{type(found).__name__}, not Decoded"
        )
    if json:
        return found.exit_code, json_module.dumps(found.data, indent=2)
    return found.exit_code, "\n".join(found.lines)


def _help(entry: Entry, call: Any) -> list[str]:
    usage = entry.usage or getattr(call, "usage", "")
    lines = [f"usage: gpudbg decode {entry.name} [--json] {usage}".rstrip(), entry.help]
    lines += getattr(call, "help_lines", list)()
    return [line for line in lines if line]


def _import_absolute(module: str) -> Any:
    import importlib

    return importlib.import_module(module)


def run_decoder(
    name: str, argv: Sequence[str], json: bool = False, registry: Registry | None = None
) -> tuple[int, str]:
    """`Registry.run_decoder` on a registry, or on a fresh discovery."""
    if registry is None:
        from gpudbg.plugin.discovery import discover

        registry = discover()
    return registry.run_decoder(name, argv, json)
