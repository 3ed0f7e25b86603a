"""What is made when a wheel is built: the manual page, from the table of options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPage(BuildHookInterface):
    """Writes `share/man/man1/gpudbg.1` into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the page; hatchling calls this before it packs."""
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from gpudbg.manual.man import man_page

        page = root / "build" / "man" / "gpudbg.1"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(man_page(self.metadata.version), encoding="utf-8")
        build_data["shared_data"][str(page)] = "share/man/man1/gpudbg.1"
