"""Where sources are for those who read a report: CI systems name files from the checkout on."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckResults


def in_checkout(report: CheckResults, file: str | None) -> str:
    """A source's path from the working directory on where it is inside, with forward slashes.

    Args:
        file: as the line table has it, which may be the whole path where it was compiled, or a
            name beside the program; None: the program itself.
    """
    program = report.program.get("file") or "program"
    path = file or program
    if not os.path.isabs(path) and not os.path.exists(path):
        beside = os.path.join(os.path.dirname(program), path)
        path = beside if os.path.exists(beside) else path
    here = os.getcwd()
    if os.path.isabs(path) and os.path.commonpath((here, path)) == here:
        path = os.path.relpath(path, here)
    return PurePath(path).as_posix()
