"""PTX to a cubin by ptxas.

A file says which version of the language it is written in and for which architecture.  Compilers
name the newest version that they know, whatever they use of it: where no ptxas at hand knows it,
the file is assembled as the newest version that one of them knows, and that is said.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from gpudbg.architectures import age
from gpudbg.dataclass import dataclass
from gpudbg.errors import CompileError, UsageError
from gpudbg.formats.program import SUPPORTED_ARCHS
from gpudbg.toolchain.installed import INSTALL, all_ptxas
from gpudbg.toolchain.options import CompileOptions

DEFAULT_ARCH = "sm_50"
TIMEOUT_S = 300
"""Longest run of ptxas."""

_VERSION = re.compile(rb"^(\s*\.version\s+)(\d+\.\d+)", re.MULTILINE)
_TARGET = re.compile(rb"^\s*\.target\s+(sm_\d+[af]?)", re.MULTILINE)
_OLD_VERSION = re.compile(r"Unsupported \.version (\d+\.\d+); current version is '(\d+\.\d+)'")
_OLD_ARCH = re.compile(r"Value '(\w+)' is not defined for option 'gpu-name'")
NEWER = (
    "another can be named by GPUDBG_PTXAS; the one of Triton's wheel, and of NVIDIA's later ones, "
    "is found by itself"
)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What one ptxas made of a file."""

    ptxas: Path
    cubin: bytes | None
    log: str

    @property
    def known_version(self) -> str | None:
        """The newest version it knows, where the file's is newer."""
        found = _OLD_VERSION.search(self.log)
        return found[2] if found else None

    @property
    def too_old(self) -> bool:
        """Whether it lacks the file's version or architecture."""
        return self.cubin is None and bool(
            self.known_version or _OLD_ARCH.search(self.log) is not None
        )


def assemble(data: bytes, name: str, options: CompileOptions) -> tuple[bytes, str]:
    """The cubin and what ptxas said.

    Args:
        data: the PTX.
        name: what messages call it.
        options: how; without an architecture the file's own `.target` counts.

    Raises:
        UsageError: ptxas is not installed or cannot be run.
        CompileError: ptxas's own words.
    """
    attempts: list[_Attempt] = []
    for ptxas in all_ptxas():
        attempts.append(_run(ptxas, data, name, options))
        if not attempts[-1].too_old:
            mended = _with_readable_tables(attempts[-1], data, name, options)
            return _result(mended or attempts[-1], name)
    if not attempts:
        raise UsageError(f"{name}: assembling PTX needs ptxas", INSTALL)
    # One that knows the architecture says more than one that knows a newer version alone.
    closest = next((a for a in reversed(attempts) if a.known_version), attempts[-1])
    return _result(_as_older(attempts, data, name, options) or closest, name)


SECTION_LABEL: Final = "Parsing error near '$L__sec_end"
"""What ptxas says of variables' tables as LLVM writes them for languages other than CUDA."""
LINES_ALONE: Final = (
    "ptxas does not read LLVM's tables of variables; lines alone do: "
    "rustc -C debuginfo=line-directives-only"
)


_SECTION_END: Final = re.compile(rb"^\$L__sec_end\d+:[ \t]*\r?\n", re.MULTILINE)
_ARANGES: Final = re.compile(rb"^[ \t]*\.section[ \t]+\.debug_aranges\s*\{[^}]*\}", re.MULTILINE)
_DEBUG_SECTION: Final = re.compile(rb"^[ \t]*\.section[ \t]+\.debug_\w+\s*\{[^}]*\}", re.MULTILINE)
_DEBUG_TARGET: Final = re.compile(rb"^([ \t]*\.target[ \t]+[^\n;]*?),[ \t]*debug\b", re.MULTILINE)


def _with_readable_tables(
    failed: _Attempt, data: bytes, name: str, options: CompileOptions
) -> _Attempt | None:
    """A file whose debug tables LLVM wrote for another language, as ptxas reads them.

    Without the table of address ranges and its label, which nobody needs; else with lines alone.
    None where it is no such file, or that fails, too.
    """
    if failed.cubin is not None or _SECTION_END.search(data) is None:
        return None
    tables = _ARANGES.sub(b"", _SECTION_END.sub(b"", data))
    lines = _DEBUG_TARGET.sub(rb"\1", _DEBUG_SECTION.sub(b"", tables))
    for text, left in ((tables, "address ranges are"), (lines, "tables of variables are")):
        made = _run(failed.ptxas, text, name, options)
        if made.cubin is not None:
            said = f"{name}: {left} left out: ptxas does not read them as LLVM writes them"
            return _Attempt(made.ptxas, made.cubin, f"{said}\n{made.log}".rstrip())
    return None


def _result(made: _Attempt, name: str) -> tuple[bytes, str]:
    if made.cubin is None:
        hint = f"{made.ptxas} is too old for this file; {NEWER}" if made.too_old else ""
        if SECTION_LABEL in made.log:
            hint = LINES_ALONE
        raise CompileError(f"{name} does not assemble\n{made.log}", hint=hint)
    return made.cubin, made.log


def _as_older(
    attempts: list[_Attempt], data: bytes, name: str, options: CompileOptions
) -> _Attempt | None:
    """The file as one of the newest version that a ptxas knows; None where that fails, too."""
    declared = _VERSION.search(data)
    known = [(_numbers(a.known_version), a) for a in attempts if a.known_version]
    if declared is None or not known:
        return None
    version, newest = max(known, key=lambda pair: pair[0])
    text = f"{version[0]}.{version[1]}"
    older = data[: declared.start(2)] + text.encode() + data[declared.end(2) :]
    made = _run(newest.ptxas, older, name, options)
    if made.cubin is None:
        return None
    said = f"{name}: .version {declared[2].decode()} is assembled as {text}, the newest that "
    return _Attempt(made.ptxas, made.cubin, f"{said}{made.ptxas} knows\n{made.log}".rstrip())


def _numbers(version: str | None) -> tuple[int, int]:
    major, _, minor = (version or "0.0").partition(".")
    return int(major), int(minor)


def _run(ptxas: Path, data: bytes, name: str, options: CompileOptions) -> _Attempt:
    arch = options.arch or target_of(data)
    with tempfile.TemporaryDirectory(prefix="gpudbg-") as folder:
        here, out = Path(folder) / "in.ptx", Path(folder) / "out.cubin"
        here.write_bytes(data)
        # --generate-line-info keeps a PTX file's own .loc lines; -g gives lines of the PTX itself.
        lines = ["-g"] if options.debug else ["-lineinfo"] if options.lineinfo else []
        words = [str(ptxas), f"-arch={arch}", *lines, *options.extra, str(here), "-o", str(out)]
        try:
            done = subprocess.run(
                words, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
            )
        except OSError as e:
            raise UsageError(f"{ptxas} cannot be run: {e.strerror}") from None
        except subprocess.TimeoutExpired:
            raise CompileError(f"{name}: ptxas ran longer than {TIMEOUT_S} s") from None
        log = (done.stdout + done.stderr).decode("utf-8", "replace").replace(str(here), name)
        made = out.read_bytes() if not done.returncode and out.is_file() else None
    silent = (
        "" if made is not None else f"{ptxas.name} ended with {done.returncode}, without a word"
    )
    return _Attempt(ptxas, made, log.rstrip() or silent)


def target_of(ptx: bytes) -> str:
    """The architecture of a PTX file's `.target`, the default where it asks for an older one."""
    found = _TARGET.search(ptx)
    named = found[1].decode() if found else DEFAULT_ARCH
    newer = age(named) > age(DEFAULT_ARCH)
    return named if named in SUPPORTED_ARCHS or newer else DEFAULT_ARCH
