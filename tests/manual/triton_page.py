"""The tutorial of Triton where Triton is not installed: its kernels as Triton compiled them.

`python -m tests.manual.triton_page`, with Triton installed, writes the cubins anew: one for each
kernel that the page shows, named by the checksum of its text, so that a changed page is noticed.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpudbg.interop import driver_of_triton
from tests.doc_blocks import FILE, ROOT

PAGE = ROOT / "docs" / "tutorials" / "triton-kernel.md"
CUBINS = Path(__file__).parent / "data"
KERNEL = re.compile(r"^def (\w+)\(.*?\n(?=\n)", re.MULTILINE | re.DOTALL)


def compiled(text: str) -> Path:
    """Where the cubin of a script's kernel lies."""
    kernel = KERNEL.search(text)
    assert kernel is not None, "no kernel in it"
    return CUBINS / f"{kernel[1]}-{zlib.crc32(kernel[0].encode()):08x}.cubin"


class StoredKernel:
    """What `@triton.jit` makes here: launched as Triton launches, with a cubin that it had made."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        self._file = Path(function.__code__.co_filename)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._kinds = {n: "i32" if n == "columns" else "*fp32" for n in names if n.islower()}

    def run(self, *args: Any, **named: Any) -> None:
        """What gpudbg knows a kernel of Triton by."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def call(*args: object, num_warps: int = 4, **_: object) -> None:
            driver = _active[-1]
            cubin = compiled(self._file.read_text(encoding="utf-8")).read_bytes()
            function = driver.utils.load_binary(self._name, cubin, 0, 0)[1]
            source = SimpleNamespace(signature=self._kinds)
            launch = driver.launcher_cls(source, SimpleNamespace(num_warps=num_warps))
            x, y, z = (*grid, 1, 1)[:3]
            launch(x, y, z, None, function, None, None, None, None, *args)

        return call


_active: list[driver_of_triton.TritonDriver] = []


@contextlib.contextmanager
def _activated(driver: driver_of_triton.TritonDriver) -> Iterator[None]:
    _active.append(driver)
    try:
        yield
    finally:
        _active.pop()


def stand_in(patch: pytest.MonkeyPatch) -> None:
    """Have `import triton` find the kernels that are stored."""
    triton, language = ModuleType("triton"), ModuleType("triton.language")
    triton.jit = StoredKernel  # type: ignore[attr-defined]
    triton.language = language  # type: ignore[attr-defined]
    language.constexpr = int  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "triton", triton)
    patch.setitem(sys.modules, "triton.language", language)
    patch.setattr(driver_of_triton, "active", _activated)


def main() -> None:
    """Compile the page's kernels with Triton."""
    import tempfile

    import triton

    for old in CUBINS.glob("peaks-*.cubin"):
        old.unlink()
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    load = driver_of_triton.Utilities.load_binary
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        places = {folder: "/src", str(Path(triton.__file__).parents[1]): "/lib"}
        for match in FILE.finditer(PAGE.read_text(encoding="utf-8")):

            def keep(self: Any, name: str, cubin: bytes, *rest: Any, text: str) -> Any:
                for place, neutral in places.items():
                    cubin = cubin.replace(place.encode(), neutral.ljust(len(place), "/").encode())
                compiled(text).write_bytes(cubin)
                return load(self, name, cubin, *rest)

            text = match["content"]
            Path(match["file"]).write_text(text, encoding="utf-8")
            driver_of_triton.Utilities.load_binary = (  # type: ignore[method-assign]
                lambda *args, text=text: keep(*args, text=text)
            )
            script = str(Path(folder) / match["file"])
            exec(compile(text, script, "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
