"""Source files of a program: where they are now, by search path and substitution rules.

A line table has names as the compiler was given them.  `SourcePath.find` tries, in this order: the
name after the substitution rules (`set substitute-path FROM TO`, first rule that fits), the
directories of `directory DIR` in order (with the whole recorded path below them, then with its
last part), and the program's own directory.  Before all that comes the text that the program was
compiled or assembled from in this process: it is the right one whatever the file says by now.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePath

from gpudbg.errors import LoadError
from gpudbg.textlines import MAX_SOURCE_BYTES, read_text


class SourcePath:
    """Search directories, substitution rules, and the text of files found.

    Attributes:
        directories: searched in order, before the program's own directory.
        rules: (from, to) prefixes, the first that fits is used.

    Args:
        beside: the program's folder.
        texts: sources that came with the program, by name.
    """

    def __init__(
        self, beside: str | Path | None = None, texts: Mapping[str, str] | None = None
    ) -> None:
        self.directories: list[str] = []
        self.rules: list[tuple[str, str]] = []
        self._folder = beside
        self._kept = dict(texts or {})
        self._editors: dict[str, str] = {}
        self._text: dict[str, list[str] | None] = {}
        self._full: dict[str, str] = {}

    @cached_property
    def _beside(self) -> Path | None:
        """Computed on first use: most launches look for no source."""
        return None if self._folder is None else Path(self._folder)

    def adopt(self, other: SourcePath) -> None:
        """Take over another search path's directories and rules."""
        self.directories = list(other.directories)
        self.rules = list(other.rules)
        self._editors = dict(other._editors)
        self._text.clear()
        self._full.clear()

    def add_directories(self, names: list[str]) -> None:
        """Put directories before those searched already (gdb's `directory`); none: forget all."""
        new = [os.path.abspath(os.path.expanduser(n)) for n in names]
        self.directories = new + [d for d in self.directories if d not in new] if new else []
        self._text.clear()
        self._full.clear()

    def substitute(self, old: str, new: str) -> None:
        """Replace the directory prefix `old` by `new`; a later rule for `old` wins."""
        old = old.rstrip("/") or "/"
        self.rules = [r for r in self.rules if r[0] != old] + [(old, new)]
        self._text.clear()
        self._full.clear()

    def forget_rules(self, old: str | None = None) -> None:
        """Drop the rule for `old`, or all of them."""
        self.rules = [r for r in self.rules if old is not None and r[0] != old.rstrip("/")]
        self._text.clear()
        self._full.clear()

    def rewritten(self, file: str) -> str:
        """A recorded name after the first substitution rule that fits at a directory border."""
        for old, new in self.rules:
            if file == old or file.startswith(old.rstrip("/") + "/"):
                return os.path.join(new, file[len(old) :].lstrip("/"))
        return file

    def open_in_editor(self, file: str, path: str) -> None:
        """Map a recorded file to the path at which an editor has it open."""
        if self._editors.get(file) != path and Path(path).is_file():
            self._editors[file] = path
            self._text.pop(file, None)
            self._full.pop(file, None)

    def find(self, file: str) -> Path | None:
        """The file on this machine, or None."""
        if file in self._editors:
            return Path(self._editors[file])
        name = self.rewritten(file)
        below = name.lstrip("/")
        places = [Path(name)] if os.path.isabs(name) else []
        for directory in self.directories:
            places += [Path(directory) / below, Path(directory) / PurePath(name).name]
        if self._beside is not None:
            places += [self._beside / below, self._beside / PurePath(name).name]
        if not os.path.isabs(name):
            places.append(Path(name))
        for place in places:
            try:
                if place.is_file():
                    return place.absolute()
            except (OSError, ValueError):
                continue
        return None

    def fullname(self, file: str) -> str:
        """An absolute name for a recorded file: where it is, else where it would be looked for."""
        if file not in self._full:
            found = self.find(file)
            name = self.rewritten(file)
            base = self._beside.absolute() if self._beside is not None else Path.cwd()
            self._full[file] = str(found or (name if os.path.isabs(name) else base / name))
        return self._full[file]

    def lines(self, file: str) -> list[str] | None:
        """The text of a recorded file, line by line; None when it is not here."""
        if file not in self._text:
            text = self._kept_text(file)
            found = self.find(file) if text is None else None
            try:
                text = read_text(found, MAX_SOURCE_BYTES) if found is not None else text
            except LoadError:
                text = None
            self._text[file] = text.splitlines() if text is not None else None
        return self._text[file]

    def _kept_text(self, file: str) -> str | None:
        """The text the program was made from, where a recorded name refers to it; None
        elsewhere.
        """
        for name, text in self._kept.items():
            if file == name or file.endswith("/" + name.lstrip("/")):
                return text
        return None

    def text(self, file: str, number: int) -> str:
        """One line of source, or an empty string."""
        lines = self.lines(file)
        return lines[number - 1] if lines is not None and 0 < number <= len(lines) else ""
