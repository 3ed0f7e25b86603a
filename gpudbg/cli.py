"""The command line: arguments to one frontend, errors to one line and an exit code.

    gpudbg PROG                     the terminal UI, stopped at the kernel's entry
    gpudbg VERB ...                 run dis asm info decode demo plugins ...
    gpudbg --batch -x FILE -ex CMD PROG

Exit codes: 0 ran clean, 1 findings, 2 usage, 3 the kernel faulted, 4 a gap of gpudbg or its model.
"""

from __future__ import annotations

import difflib
import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from gpudbg.errors import (
    EXIT_CLEAN,
    EXIT_CODES,
    NO_ROOM,
    GpudbgError,
    UsageError,
    error_for_user,
)
from gpudbg.frontends.verbs.listing import VERBS

GC_THRESHOLD = 100_000
"""Start-up makes many objects that all stay: looking for garbage among them costs a tenth of it."""

MODULES = {
    "tui": "gpudbg.frontends.verbs.debug",
    "help": "gpudbg.manual.verb",
    "completion": "gpudbg.manual.completion",
}
"""Verb -> module with `main(argv) -> exit code`, where it is not `frontends.verbs.VERB`."""
WITHOUT_BLAS = frozenset(("run", "record", "check", "export"))
"""Verbs that multiply no large matrices with NumPy; those with a screen and GDB/MI are others."""
VERSION = frozenset(("-V", "-v", "--version", "-version", "version"))
STARTED_AS = "GPUDBG_AS"
"""Set to cuda-gdb by the file of that name (`gpudbg info nsight`)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    gc.set_threshold(GC_THRESHOLD, 20, 20)
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        words, paths = _take_plugin_paths(args)
        with _plugin_paths(paths):
            return _dispatch(words)
    except GpudbgError as e:
        print(f"gpudbg: {e}", file=sys.stderr)
        return e.exit_code
    except BrokenPipeError:
        # The reader went away (`| head`): not an error, and nothing more can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLEAN
    except KeyboardInterrupt:
        print("gpudbg: interrupted", file=sys.stderr)
        return 130
    except Exception as e:
        shown = error_for_user(e)
        print(f"gpudbg: {shown}", file=sys.stderr)
        if isinstance(e, OSError) and e.errno in NO_ROOM:
            # What standard output still holds would fail again at the end of the process.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return shown.exit_code


def _dispatch(args: list[str]) -> int:
    if os.environ.get(STARTED_AS) == "cuda-gdb":
        return _version(args) if VERSION & set(args) else _mi(args)
    if not args:
        print(FIRST_CONTACT, file=sys.stderr)
        return UsageError.exit_code
    first = args[0]
    if first in ("-h", "--help"):
        print(usage())
        return EXIT_CLEAN
    if first in VERSION:
        return _version(args)
    if first in ("tui", "demo"):
        return _on_screen(first, args[1:])
    if first in VERBS:
        if first in WITHOUT_BLAS:
            _load_numpy()
        return _verb(first)(args[1:])
    plugin_verb = _plugin_verb(first)
    if plugin_verb is not None:
        return plugin_verb(args[1:])
    if _is_gdb(args):
        if VERSION & set(args):
            return _version(args)
        return _mi(args)
    _meant(first)
    return _on_screen("tui", args)


def _meant(word: str) -> None:
    """UsageError for a word that is no file and looks like a mistyped verb."""
    if not word.isidentifier() or os.path.exists(word):
        return
    near = difflib.get_close_matches(word, VERBS, n=2, cutoff=0.6)
    if near:
        raise UsageError(
            f"no verb and no file is called {word!r}", f"did you mean {' or '.join(near)}?"
        )


def _version(args: list[str]) -> int:
    """The version; clients that start a gdb get the banner they look for."""
    if os.environ.get(STARTED_AS) == "cuda-gdb" or _is_gdb(args):
        from gpudbg.frontends.mi.words import version_lines

        print("\n".join(version_lines()))
    else:
        from gpudbg import __version__
        from gpudbg.frontends.mi.words import GDB_VERSION

        # Clients ask whatever they start as gdb so, before they ask for the interface.
        print(f"gpudbg {__version__}\n(to clients of gdb: GNU gdb (GDB) {GDB_VERSION})")
    return EXIT_CLEAN


def _on_screen(verb: str, args: list[str]) -> int:
    """A verb that draws a screen: the first line is there before what it imports."""
    from gpudbg.frontends.starting import no_collection
    from gpudbg.frontends.verbs.opening_line import opening_line

    with opening_line(args), no_collection():
        _load_numpy()
        return _verb(verb)(args)


def _mi(args: list[str]) -> int:
    _load_numpy()
    return _main_of("gpudbg.frontends.mi.main")(args)


def _load_numpy() -> None:
    from gpudbg.frontends.starting import load_numpy

    load_numpy()


def _is_gdb(args: list[str]) -> bool:
    """Whether the arguments are gdb's, as IDEs give them (`-i=mi`, `--nx -q`, `-iex …`)."""
    from gpudbg.frontends.mi.words import GDB_OPTIONS

    names = (word.lstrip("-").partition("=")[0] for word in args if word.startswith("-"))
    return any(name in GDB_OPTIONS for name in names)


def _take_plugin_paths(args: list[str]) -> tuple[list[str], list[str]]:
    """The arguments without every `--plugin PATH`, and those paths."""
    rest: list[str] = []
    paths: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--plugin":
            path = next(words, None)
            if path is None:
                raise UsageError("--plugin needs a path", "a plugin folder, or a folder of them")
            paths.append(path)
        elif word.startswith("--plugin="):
            paths.append(word.partition("=")[2])
        else:
            rest.append(word)
    return rest, paths


@contextmanager
def _plugin_paths(paths: list[str]) -> Iterator[None]:
    """Let discovery look in these folders too, while the verb runs."""
    if not paths:
        yield
        return
    from gpudbg.plugin import PATH_VARIABLE

    old = os.environ.get(PATH_VARIABLE)
    os.environ[PATH_VARIABLE] = os.pathsep.join([*paths, *([old] if old else [])])
    try:
        yield
    finally:
        if old is None:
            del os.environ[PATH_VARIABLE]
        else:
            os.environ[PATH_VARIABLE] = old


def _verb(verb: str) -> Callable[[list[str]], int]:
    return _main_of(MODULES.get(verb, f"gpudbg.frontends.verbs.{verb}"))


def _main_of(module: str) -> Callable[[list[str]], int]:
    found: Callable[[list[str]], int] = import_module(module).main
    return found


def _plugin_verb(word: str) -> Callable[[list[str]], int] | None:
    """A verb that a plugin adds, unless the word is a file or a flag; a folder is no program."""
    if word.startswith("-") or os.path.isfile(word) or not word.replace("-", "_").isidentifier():
        return None
    from gpudbg.frontends.verbs.plugins import find_verb

    return find_verb(word)


FIRST_CONTACT = """gpudbg: the debugger for GPU machine code that needs no GPU

Three things to try:

  gpudbg demo               a shipped kernel in the debugger; `gpudbg demo --list` has more
  gpudbg run PROG           run a kernel (a cubin, a .cu file), see its output or the guilty thread
  gpudbg help first-fault   a tutorial of ten minutes; `gpudbg help` lists all there is

`gpudbg --help` lists the verbs and their flags."""
"""What the bare command says."""


def usage() -> str:
    """The help text of the command."""
    lines = [
        "usage: gpudbg PROG [launch flags]     debug a program in the terminal UI",
        "       gpudbg VERB ...                `gpudbg VERB --help` explains one",
        "       gpudbg --batch [-x FILE] [-ex COMMAND] PROG   a scripted session",
        "       gpudbg --interpreter=mi PROG   GDB/MI, as IDEs start gdb (--mi-listen HOST:PORT)",
        "",
        "PROG is a cubin, or raw instruction words with a launch table PROG.toml beside it.",
        "",
        "verbs:",
    ]
    lines += [f"  {name:10} {words}" for name, words in VERBS.items()]
    lines += [
        "",
        "the terminal UI: GPUDBG_THEME=dark|light|contrast|256|16|mono, NO_COLOR, GPUDBG_ASCII=1,",
        "  GPUDBG_KEYMAP=vscode|gdb|x64dbg|vim; `?` in it shows every key",
        "kept compiled kernels: `gpudbg cache`; GPUDBG_CACHE=FOLDER or off, GPUDBG_CACHE_MB=128",
        "exit codes: "
        + ", ".join(f"{n} {what.partition(':')[0]}" for n, what in EXIT_CODES.items()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
