"""Where the prompt keeps things: history and trust in the state folder, `.gpudbgrc` in config."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from gpudbg.dataclass import dataclass

RC_NAME = ".gpudbgrc"


@dataclass(frozen=True, slots=True)
class Places:
    """Folders of the user.

    Attributes:
        config: holds the user's `.gpudbgrc`.
        state: holds the history and what is trusted.
        project: the working directory, whose `.gpudbgrc` needs trust.
    """

    config: Path
    state: Path
    project: Path

    @classmethod
    def of_user(cls) -> Places:
        """The platform's folders (XDG on Linux)."""
        from platformdirs import user_config_path, user_state_path

        return cls(user_config_path("gpudbg"), user_state_path("gpudbg"), Path.cwd())

    @property
    def rc(self) -> Path:
        """The user's own commands, carried out at every start."""
        return self.config / RC_NAME

    @property
    def project_rc(self) -> Path | None:
        """The project's, when there is one and it is not the user's."""
        path = self.project / RC_NAME
        return path if path.is_file() and path.absolute() != self.rc.absolute() else None

    @property
    def history(self) -> Path | None:
        """The history file, its folder made; None when that cannot be."""
        try:
            self.state.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return self.state / "repl_history"

    # ---- trust -------------------------------------------------------------------------
    @property
    def _trusted(self) -> Path:
        return self.state / "trusted.json"

    def _known(self) -> dict[str, str]:
        try:
            known = json.loads(self._trusted.read_text())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def trusts(self, rc: Path) -> bool:
        """Whether the user has trusted this file with exactly this content."""
        return self._known().get(str(rc.absolute())) == _digest(rc)

    def trust(self, rc: Path) -> None:
        """Remember a file and its content as trusted."""
        known = {**self._known(), str(rc.absolute()): _digest(rc)}
        self.state.mkdir(parents=True, exist_ok=True)
        self._trusted.write_text(json.dumps(known, indent=1))


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
