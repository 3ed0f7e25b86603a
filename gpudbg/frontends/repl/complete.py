"""Completion at the Python prompt: commands, names, attributes, warps, lanes, registers.

Nothing is called to find completions: attributes come from types and plain values along a dotted
path, subscripts from what the session holds.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gpudbg.debug import DebugSession, LaneView, WarpView
from gpudbg.debug import complete as complete_command
from gpudbg.errors import GpudbgError
from gpudbg.frontends.repl.lines import as_command

if TYPE_CHECKING:
    from gpudbg.frontends.repl.shell import Shell

_PATH = re.compile(r"(?P<path>(?:[A-Za-z_]\w*(?:\(\d*\)|\[\d+\])?\.)*)(?P<word>[A-Za-z_]\w*)?$")
_STEP = re.compile(r"([A-Za-z_]\w*)(?:\((\d*)\)|\[(\d+)\])?\.")
_CALL = re.compile(
    r"(?P<path>(?:[A-Za-z_]\w*(?:\(\d*\)|\[\d+\])?\.)*)(?P<name>\w+)[(\[](?P<word>\d*)$"
)
_STRING = re.compile(r"(?P<name>\w+)\(\s*(?:\w+\s*=\s*)?[\"'](?P<word>[^\"']*)$")

_KEY = re.compile(
    r"(?P<path>(?:[A-Za-z_]\w*(?:\(\d*\)|\[\d+\])?\.)*[A-Za-z_]\w*)\[[\"'](?P<word>[^\"']*)$"
)

_PURE = {("DebugSession", "warp"), ("WarpView", "lane")}
"""Calls along a path that only look: (type, method)."""


class Completer:
    """Finds what can follow a text; one for every prompt."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def matches(self, text: str) -> tuple[int, list[str]]:
        """How many characters of the end are replaced, and by what.

        Args:
            text: the line up to the cursor.
        """
        line = text.lstrip()
        command = self._command(line)
        if command:
            return command
        for finder in (self._in_string, self._in_key, self._in_call, self._dotted):
            found = finder(text)
            if found is not None:
                return found
        return 0, []

    # ---- commands ----------------------------------------------------------------------
    def _command(self, line: str) -> tuple[int, list[str]] | None:
        """Completion of a line that is a command, or of its first word beside Python's names."""
        forced = line.startswith("!")
        typed = line[1:] if forced else line
        names = self._shell.names
        if not forced and " " not in typed:
            return None
        first = typed.split(" ", 1)[0]
        table = self._shell.table
        if not forced and (first in names or as_command(typed, table, names) is None):
            parents = table.words(first + " ")
            if first in names or keyword.iskeyword(first) or not parents:
                return None
        found = complete_command(self._shell.dbg, typed)
        word = len(typed) - (max(typed.rfind(" "), typed.rfind("/")) + 1)
        cut = len(typed) - word
        rest = [f[cut:] for f in found if f[:cut] == typed[:cut]]
        return (word, sorted(set(rest))) if rest else None

    # ---- strings -----------------------------------------------------------------------
    def _in_string(self, text: str) -> tuple[int, list[str]] | None:
        match = _STRING.search(text)
        if match is None or match["name"] not in STRINGS:
            return None
        word = match["word"]
        try:
            options = STRINGS[match["name"]](self._shell.dbg, word)
        except GpudbgError:
            return None
        return len(word), [o for o in options if o.startswith(word)]

    def _in_key(self, text: str) -> tuple[int, list[str]] | None:
        """Keys of a mapping, as in `program.kernels["`."""
        match = _KEY.search(text)
        owner = self._walk(match["path"] + ".") if match is not None else None
        if match is None or not isinstance(owner, Mapping):
            return None
        word = match["word"]
        return len(word), [k for k in owner if isinstance(k, str) and k.startswith(word)]

    # ---- warps, lanes, registers -------------------------------------------------------
    def _in_call(self, text: str) -> tuple[int, list[str]] | None:
        """Numbers after `dbg.warp(`, `.lane(`, `.R[` and `.P[`."""
        match = _CALL.search(text)
        if match is None:
            return None
        owner = self._walk(match["path"])
        options: list[str] = []
        if isinstance(owner, DebugSession) and match["name"] == "warp":
            sm = owner.focus.sm if owner.focus else 0
            options = [str(w.index) for w in owner.warps() if w.sm == sm]
        elif isinstance(owner, WarpView) and match["name"] == "lane":
            options = [str(i) for i in range(32)]
        elif isinstance(owner, WarpView | LaneView) and match["name"] in "RP":
            file = owner.R if match["name"] == "R" else range(8)
            options = [str(i) for i in range(len(file))]
        word = match["word"]
        found = [o for o in options if o.startswith(word)]
        return (len(word), found) if found else None

    # ---- names and attributes ----------------------------------------------------------
    def _dotted(self, text: str) -> tuple[int, list[str]] | None:
        match = _PATH.search(text)
        if match is None:
            return None
        word = match["word"] or ""
        if match["path"]:
            owner = self._walk(match["path"])
            if owner is None:
                return None
            # Public objects do not list the rest; who types an underscore wants it.
            rest = object.__dir__(owner) if word.startswith("_") else ()
            own = sorted(n for n in {*dir(owner), *rest} if n.startswith(word))
            public = [n for n in own if not n.startswith("_") or word.startswith("_")]
            return len(word), public
        if not word:
            return None
        names = {n for n in self._shell.names if not n.startswith("__")}
        names |= {*dir(builtins), *keyword.kwlist}
        if text.lstrip() == word:
            names |= {n.split(" ")[0] for n in self._shell.table.words(word)}
        return len(word), sorted(n for n in names if n.startswith(word))

    def _walk(self, path: str) -> Any:
        """The object a dotted path names; None when it cannot be known without running code."""
        found: Any = None
        for number, step in enumerate(_STEP.finditer(path)):
            name, call, item = step.groups()
            if number == 0:
                found = self._shell.names.get(name)
            else:
                found = self._attribute(found, name)
            if call is not None:
                found = self._call(found, call)
            elif item is not None:
                found = None if not isinstance(found, list | tuple) else _item(found, int(item))
            if found is None:
                return None
        return found

    def _attribute(self, owner: Any, name: str) -> Any:
        static = inspect.getattr_static(owner, name, None)
        ours = type(owner).__module__.startswith("gpudbg")
        if isinstance(static, property) and not ours:
            return None
        try:
            return getattr(owner, name, None)
        except GpudbgError:
            return None

    def _call(self, method: Any, argument: str) -> Any:
        owner = getattr(method, "__self__", None)
        if (type(owner).__name__, getattr(method, "__name__", "")) not in _PURE:
            return None
        try:
            return method(int(argument)) if argument else method()
        except (GpudbgError, TypeError):
            return None


def _item(rows: Any, index: int) -> Any:
    return rows[index] if index < len(rows) else None


def _locations(dbg: DebugSession, word: str) -> list[str]:
    return dbg.symbols.complete_location(word)


def _registers(dbg: DebugSession, word: str) -> list[str]:
    return [n for n in dbg.special_names() if n.startswith(word)]


def _arguments(dbg: DebugSession, word: str) -> list[str]:
    return [a.name for a in dbg.launch.arguments if a.buffer is not None]


STRINGS: dict[str, Callable[[DebugSession, str], list[str]]] = {
    "break_at": _locations,
    "breakpoint": _locations,
    "until": _locations,
    "evaluate": lambda dbg, word: dbg.complete_expression(word),
    "memory": lambda dbg, word: dbg.complete_expression(word),
    "execute": complete_command,
    "command": complete_command,
    "sreg": _registers,
    "buffer": _arguments,
    "launch": lambda dbg, word: list(dbg.program.kernels),
    "read_symbol": lambda dbg, word: list(dbg.program.globals),
    "write_symbol": lambda dbg, word: list(dbg.program.globals),
    "set_focus": lambda dbg, word: ["block ", "lane ", "sm ", "thread ", "warp "],
}
"""Function -> what its string argument can be."""
