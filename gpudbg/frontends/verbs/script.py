"""gpudbg script FILE.py [ARGS]: a Python program on the debugger, with the designed exit codes."""

from __future__ import annotations

import codecs
import importlib.util
import io
import pkgutil
import runpy
import sys
import tokenize
import traceback
from pathlib import Path

from gpudbg.arguments import Parser
from gpudbg.debug.stops import EVERY_STOP, Stop
from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT, EXIT_FINDINGS, GpudbgError, UsageError
from gpudbg.frontends.verbs.common import exit_code
from gpudbg.options import add_verb_options

_LOOKED_AT = 1 << 20
"""Bytes of a script that are looked at before it runs."""


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg script",
        description="Run a Python file; ARGS become sys.argv[1:]. The names gpudbg and np (NumPy) "
        "are there without an import. Exit code: the script's own (sys.exit); else 1 when it "
        "ends with an exception, 2 when it misuses gpudbg, 3 when one of its launches faulted, "
        "4 when it meets a gap of the model.",
    )
    add_verb_options(p, "script")
    # Whatever follows the file is the script's, flags included.
    head = argv[: 1 + next((i for i, a in enumerate(argv) if not a.startswith("-")), len(argv))]
    args = p.parse_args(head)
    return run_script(Path(args.file), argv[len(head) :])


def run_script(path: Path, arguments: list[str]) -> int:
    """Run a script as `__main__` and say how it ended."""
    if not path.is_file():
        why = "no such file"
        if path.exists():
            why = "is a folder" if path.is_dir() else "no ordinary file"
        raise UsageError(f"cannot read {path}: {why}")
    _check_python(path)
    faults: list[Stop] = []
    EVERY_STOP.append(lambda stop: faults.extend([stop] if stop.faulted else []))
    before = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        runpy.run_path(str(path), init_globals=_scope(), run_name="__main__")
    except SystemExit as end:
        return exit_code(end.code)
    except GpudbgError as error:
        print(f"gpudbg: {error}", file=sys.stderr)
        _point(error, path)
        return error.exit_code
    except Exception as error:
        _explain(error, path)
        return EXIT_FINDINGS
    finally:
        sys.argv, sys.path[:] = before[0], before[1]
        EVERY_STOP.pop()
    return EXIT_FAULT if faults else EXIT_CLEAN


def _check_python(path: Path) -> None:
    """Refuse what is no text, which Python would call a mistake in line 1.

    Raises:
        UsageError: names file and offset.
    """
    try:
        # An archive with a program in it, or compiled Python, which both run as they are.
        if pkgutil.get_importer(str(path)) is not None:
            return
        with path.open("rb") as file:
            head = file.read(_LOOKED_AT)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if head.startswith(importlib.util.MAGIC_NUMBER):
        return
    at = head.find(0)
    if at < 0:
        at = _undecodable(head)
    if at >= 0:
        hint = "programs for a GPU are opened by `gpudbg FILE`"
        raise UsageError(f"{path}: no Python program: byte {head[at]:#04x} at {at:#x}", hint)


def _undecodable(head: bytes) -> int:
    """Where bytes are no text in the encoding that they declare; -1: nowhere."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(head).readline)
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError as error:
        return error.start
    except SyntaxError:
        # Either an encoding that there is not, which Python names, or no UTF-8 in line 1 or 2.
        try:
            codecs.getincrementaldecoder("utf-8")().decode(head)
        except UnicodeDecodeError as error:
            return error.start
    return -1


def _scope() -> dict[str, object]:
    """Names that a script has without an import."""
    import numpy as np

    import gpudbg

    return {"gpudbg": gpudbg, "np": np}


def _point(error: GpudbgError, path: Path) -> None:
    """The lines of the script that led to an error of gpudbg's, innermost last."""
    rows = traceback.extract_tb(error.__traceback__)
    for row in rows:
        if row.filename == str(path):
            print(f"  at {path}:{row.lineno}  {row.line}", file=sys.stderr)


def _explain(error: Exception, path: Path) -> None:
    """The script's own traceback: without the frames that started it."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != str(path):
        frames = frames.tb_next
    text = traceback.format_exception(type(error), error, frames)
    print("".join(text).rstrip(), file=sys.stderr)
