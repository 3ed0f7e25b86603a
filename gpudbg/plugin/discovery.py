"""Finding plugins without importing them: bundled folders, entry points, paths.

Order: bundled (`gpudbg/_plugins` in a wheel, `plugins/` beside the package in a checkout or
an editable install), the entry-point group `gpudbg.plugins`, then `--plugin PATH` and the
folders of `GPUDBG_PLUGIN_PATH`.  A folder plugin's modules live under the import name
`gpudbg_plugins.NAME`, so relative imports work and no top-level name is claimed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from gpudbg.errors import LoadError, PluginError
from gpudbg.plugin.contract import KINDS, Entry, Plugin
from gpudbg.plugin.registry import PluginInfo, Registry

ENTRY_POINT_GROUP = "gpudbg.plugins"
PATH_VARIABLE = "GPUDBG_PLUGIN_PATH"
DESCRIPTOR = "plugin.toml"
NAMESPACE = "gpudbg_plugins"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*$")
_CALL = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
_TOP_KEYS = frozenset({"name", "version", "summary", "api", *KINDS})
_MAX_DESCRIPTOR = 1 << 20


def discover(extra_paths: Iterable[str | os.PathLike[str]] = ()) -> Registry:
    """Find every plugin; costs no import of a plugin's code.

    Args:
        extra_paths: `--plugin` folders: a plugin folder or a folder of such folders.

    Returns:
        The registry; what is broken is in its `warnings`.
    """
    registry = Registry()
    bundled = bundled_root()
    if bundled is not None:
        for folder in _plugin_folders(bundled):
            _add_folder(registry, folder, "bundled")
    _add_entry_points(registry)
    named = [part for part in os.environ.get(PATH_VARIABLE, "").split(os.pathsep) if part]
    for path in [*named, *extra_paths]:
        _add_path(registry, Path(path))
    return registry


def bundled_root() -> Path | None:
    """The folder of bundled plugins, or None when there is none."""
    package = Path(__file__).resolve().parent.parent
    for candidate in (package / "_plugins", package.parent / "plugins"):
        if candidate.is_dir():
            return candidate
    return None


def _plugin_folders(root: Path) -> Iterator[Path]:
    try:
        children = sorted(root.iterdir())
    except OSError:
        return
    for child in children:
        if (child / DESCRIPTOR).is_file():
            yield child


def _add_path(registry: Registry, path: Path) -> None:
    if (path / DESCRIPTOR).is_file():
        _add_folder(registry, path, "path")
        return
    folders = list(_plugin_folders(path)) if path.is_dir() else []
    if not folders:
        reason = f"holds no {DESCRIPTOR}" if path.is_dir() else "is not a folder"
        registry.warn(f"plugin path '{path}' {reason}")
    for folder in folders:
        _add_folder(registry, folder, "path")


def _add_folder(
    registry: Registry,
    folder: Path,
    source: str,
    importer: Callable[[str], Any] | None = None,
) -> None:
    try:
        plugin, notes = read_descriptor(folder / DESCRIPTOR)
    except LoadError as error:
        _add_broken(registry, folder.name, source, str(folder), str(error))
        return
    info = PluginInfo(plugin.name, plugin.version, source, plugin.summary, str(folder.resolve()))
    registry.add(plugin, info, importer or partial(import_folder, plugin.name, folder.resolve()))
    for note in notes:
        registry.warn(f"plugin '{plugin.name}': {note}", plugin.name)


def _add_broken(registry: Registry, name: str, source: str, location: str, reason: str) -> None:
    message = f"plugin '{name}' is left out: {reason}"
    if name not in registry.infos:
        registry.infos[name] = PluginInfo(name, "-", source, location=location, state="broken")
    registry.warn(message, name)


def read_descriptor(path: Path) -> tuple[Plugin, list[str]]:
    """Read a `plugin.toml`.

    Returns:
        The descriptor and notes on what in it was left out.

    Raises:
        LoadError: unreadable, not TOML, or without a usable name.
    """
    import tomllib

    try:
        if path.stat().st_size > _MAX_DESCRIPTOR:
            raise LoadError("larger than 1 MiB", path=str(path))
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LoadError(error.strerror or str(error), path=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LoadError(f"not TOML: {error}", path=str(path)) from error
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        raise LoadError("'name' must be an identifier", path=str(path))
    notes = [f"unknown key '{key}' in {DESCRIPTOR}" for key in table if key not in _TOP_KEYS]
    api = table.get("api", 1)
    if not isinstance(api, int):
        raise LoadError("'api' must be an integer", path=str(path))
    entries = [entry for kind in KINDS for entry in _entries(kind, table.get(kind), notes)]
    version, summary = str(table.get("version", "0")), str(table.get("summary", ""))
    return Plugin(name, version, summary, tuple(entries), api), notes


def _entries(kind: str, table: object, notes: list[str]) -> Iterator[Entry]:
    if table is None:
        return
    if not isinstance(table, dict):
        notes.append(f"'{kind}' must be a table of tables")
        return
    for name, row in table.items():
        call = row.get("call") if isinstance(row, dict) else row
        if not isinstance(call, str) or not _CALL.match(call):
            notes.append(f"{kind} '{name}' needs call = \"module:attribute\"")
            continue
        details = dict(row) if isinstance(row, dict) else {}
        details.pop("call", None)
        summary, usage = str(details.pop("help", "")), str(details.pop("usage", ""))
        yield Entry(kind, name, call, summary, usage, details=details)


def import_folder(name: str, folder: Path, module: str) -> ModuleType:
    """Import `module` of the plugin in `folder` under `gpudbg_plugins`.

    Two folders that claim one name get import names of their own.
    """
    return importlib.import_module(f"{_ensure_package(name, folder)}.{module}")


def _ensure_package(name: str, folder: Path) -> str:
    if NAMESPACE not in sys.modules:
        root = ModuleType(NAMESPACE, "Import root of folder plugins.")
        root.__path__ = []
        sys.modules[NAMESPACE] = root
    package = f"{NAMESPACE}.{name}"
    held = sys.modules.get(package)
    if held is not None and list(held.__path__) != [str(folder)]:
        import hashlib

        package += "_" + hashlib.sha256(str(folder).encode()).hexdigest()[:8]
        held = sys.modules.get(package)
    if held is None:
        _create_package(package, folder)
    return package


def _create_package(package: str, folder: Path) -> None:
    init = folder / "__init__.py"
    if not init.is_file():
        module = ModuleType(package)
        module.__path__ = [str(folder)]
        sys.modules[package] = module
    else:
        spec = importlib.util.spec_from_file_location(
            package, init, submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None:
            raise PluginError(f"cannot import {init}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[package] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[package]
            raise
    setattr(sys.modules[NAMESPACE], package.rpartition(".")[2], module)


def _has_entry_points() -> bool:
    """Whether an installed package may name plugins.

    Read from the files: importlib.metadata takes as long as half of everything else here.
    """
    header = f"[{ENTRY_POINT_GROUP}]".encode()
    for name in sys.path:
        folder = Path(name or ".")
        if folder.is_file():
            return True  # a zip file: importlib.metadata can look into it
        for found in (*folder.glob("*.dist-info/entry_points.txt"),
                      *folder.glob("*.egg-info/entry_points.txt")):  # fmt: skip
            try:
                if header in found.read_bytes():
                    return True
            except OSError:
                continue
    return False


def _add_entry_points(registry: Registry) -> None:
    if not _has_entry_points():
        return
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda item: item.name):
        try:
            _add_entry_point(registry, point)
        except Exception as error:  # metadata of a foreign package may be anything
            reason = f"{type(error).__name__}: {error}"
            _add_broken(registry, point.name, "installed", point.value, reason)


def _add_entry_point(registry: Registry, point: Any) -> None:
    folder = _installed_folder(point.module)
    if folder is not None and (folder / DESCRIPTOR).is_file():

        def importer(module: str) -> ModuleType:
            return importlib.import_module(f"{point.module}.{module}")

        _add_folder(registry, folder, "installed", importer)
        return
    version = point.dist.version if point.dist is not None else "0"
    info = PluginInfo(point.name, version, "installed", location=point.value)
    registry.add_pending(info, partial(_load_descriptor, point))


def _installed_folder(module: str) -> Path | None:
    """The folder of an installed package, found without importing it."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)  # of a top-level name: imports nothing
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))).joinpath(*rest)


def _load_descriptor(point: Any) -> Plugin:
    found = point.load()
    if not isinstance(found, Plugin):
        raise PluginError(f"entry point {point.value} is not a gpudbg.plugin.Plugin")
    return found
