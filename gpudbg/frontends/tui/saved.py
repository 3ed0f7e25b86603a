"""Named layouts in the user's state folder: written when the user asks, read at the next start."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from gpudbg.errors import CommandError
from gpudbg.frontends.tui.changed import Changes

FILE = "layouts.json"
DEFAULT = "mine"
"""The name a layout is saved under when none is given."""

Layout = dict[str, Changes]
"""Size of terminal -> changes."""


def path() -> Path:
    """The file."""
    from platformdirs import user_state_path

    return user_state_path("gpudbg") / FILE


class Saved:
    """The layouts of the file; a file that cannot be read is reported, kept, and counts as empty.

    Attributes:
        current: the name that the next start takes.
        layouts: name -> layout.
        appearance: the theme, key map and glyphs that the next start takes, by name of the setting.
        trouble: why the file could not be read, or "".
    """

    def __init__(self, where: Path) -> None:
        self.path = where
        self.current = ""
        self.layouts: dict[str, Layout] = {}
        self.appearance: dict[str, str] = {}
        self.trouble = ""

    @classmethod
    def read(cls, where: Path | None = None) -> Saved:
        """Read the file; what is wrong with it goes to `trouble`."""
        out = cls(where or path())
        try:
            data = json.loads(out.path.read_text("utf-8"))
            if not isinstance(data, dict) or not isinstance(data.get("layouts"), dict):
                raise ValueError("it holds no layouts")
            for name, sizes in data["layouts"].items():
                if not isinstance(sizes, dict):
                    raise ValueError(f"layout {name!r} must be a table of sizes")
                out.layouts[name] = {s: Changes.of_json(c) for s, c in sizes.items()}
            out.current = str(data.get("current", ""))
            appearance = data.get("look", {})
            if not isinstance(appearance, dict) or not all(
                isinstance(v, str) for v in appearance.values()
            ):
                raise ValueError("'look' must be values of settings")
            out.appearance = dict(appearance)
        except FileNotFoundError:
            return out
        except (OSError, ValueError, RecursionError) as e:
            out.layouts.clear()
            reason = getattr(e, "strerror", None) or str(e)
            out.trouble = f"{out.path} cannot be read ({reason}); `layout save` begins it anew"
        return out

    def save(
        self, name: str, layout: Mapping[str, Changes], appearance: Mapping[str, str] | None = None
    ) -> None:
        """Enter a layout, make it the current one, and write the file; `appearance` with it.

        Raises:
            CommandError: the file cannot be written.
        """
        self.layouts[name] = dict(layout)
        if appearance is not None:
            self.appearance = dict(appearance)
        self.current = name
        self.write()

    def delete(self, name: str) -> None:
        """Forget a layout.

        Raises:
            CommandError: there is none of that name, or the file cannot be written.
        """
        if name not in self.layouts:
            raise CommandError(f"no layout is called {name!r}", self.hint())
        del self.layouts[name]
        if self.current == name:
            self.current = ""
        self.write()

    def hint(self) -> str:
        """A hint that names the saved layouts."""
        return "saved: " + (", ".join(self.layouts) or "none yet; `layout save NAME` saves one")

    def write(self) -> None:
        """Write the file atomically; an unreadable one is renamed first.

        Raises:
            CommandError: it cannot be written.
        """
        layouts = {
            name: {size: changes.to_json() for size, changes in layout.items()}
            for name, layout in self.layouts.items()
        }
        data = {"current": self.current, "layouts": layouts, "look": self.appearance}
        text = json.dumps({k: v for k, v in data.items() if v or k != "look"}, indent=1)
        part = self.path.with_suffix(f".{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.trouble and self.path.exists():
                self.path.replace(self.path.with_suffix(".broken"))
            part.write_text(text + "\n", "utf-8")
            part.replace(self.path)
        except OSError as e:
            raise CommandError(f"cannot write {self.path}: {e.strerror or e}") from None
        self.trouble = ""
