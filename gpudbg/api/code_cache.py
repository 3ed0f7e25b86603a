"""The cache of compiled kernels, as `gpudbg cache` shows it."""

from __future__ import annotations

from gpudbg.answers import Card, column, typed_row
from gpudbg.sm.engines.llvm import cache


@typed_row
class CacheContents:
    """What is kept, and where; `cleared` where it has been removed just now."""

    folder: str | None = column()
    files: int = column()
    size: int = column(key="bytes")
    limit: int = column()
    cleared: bool = column()

    def lines(self) -> list[str]:
        """The contents for people."""
        if self.folder is None:
            return [f"nothing is kept: {cache.FOLDER} or {cache.NO_CACHE} is set"]
        kept = f"{self.files:,} file{'s' * (self.files != 1)}, {self.size / (1 << 20):.1f} MB"
        if self.cleared:
            return [f"{self.folder}: {kept} removed"]
        return [f"{self.folder}: {kept} of {self.limit >> 20:,} MB at most"]


def cache_answer(clear: bool = False) -> Card:
    """What is kept of compiled kernels, or what has been removed."""
    found = cache.clear() if clear else cache.contents()
    folder = None if found.folder is None else str(found.folder)
    record = CacheContents(folder, found.files, found.nbytes, found.limit, clear)
    return Card(record, CacheContents.lines)


def cache_words() -> str:
    """How it is moved, switched off and bounded."""
    return (
        f"{cache.FOLDER}=FOLDER moves it, {cache.FOLDER}=off does without it, "
        f"{cache.SIZE}=N bounds it (megabytes, {cache.DEFAULT_MB} unless set)."
    )
