"""What this user has seen so far: whether this is the first start, and opened stories."""

from __future__ import annotations

import json
from pathlib import Path

FILE = "seen.json"


class Seen:
    """The record; it is a convenience: what cannot be read or written is passed over.

    Attributes:
        first: whether this is the first start.
        stories: names of the stories that were opened.
    """

    def __init__(self, where: Path | None = None) -> None:
        self._path = where
        self.first = False
        self.stories: set[str] = set()

    @classmethod
    def read(cls, where: Path | None = None) -> Seen:
        """The user's record, of the platform's state folder."""
        from platformdirs import user_state_path

        out = cls(where or user_state_path("gpudbg") / FILE)
        assert out._path is not None
        out.first = not out._path.exists()
        try:
            data = json.loads(out._path.read_text("utf-8"))
            out.stories = {str(name) for name in data["stories"]}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            pass
        if out.first:
            out._write()
        return out

    def mark(self, story: str) -> None:
        """A story was opened."""
        if story not in self.stories:
            self.stories.add(story)
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps({"stories": sorted(self.stories)}) + "\n", "utf-8")
        except OSError:
            self._path = None
