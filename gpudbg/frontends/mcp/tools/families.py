"""All tools: importing this module fills the table."""

from __future__ import annotations

from gpudbg.frontends.mcp.tools import checking, launching, looking, programs, running
from gpudbg.frontends.mcp.tools.table import TOOLS

__all__ = ["TOOLS", "checking", "launching", "looking", "programs", "running"]
