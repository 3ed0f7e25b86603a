"""The page that `man gpudbg` shows, in the notation of man(7), from the table of options.

`hatch_build.py` writes it into the wheel, below `share/man/man1`, where nothing but the standard
library is installed; `gpudbg help --man` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpudbg.errors import EXIT_CODES
from gpudbg.frontends.verbs.listing import ENVIRONMENT, VERBS
from gpudbg.manual.reference.command_line import own_rows, synopsis
from gpudbg.options import COMPILERS, LAUNCHING, OPTIONS, OptionKind, OptionScope, OptionSpec

NAME = "gpudbg \\- the debugger for GPU machine code that needs no GPU"
ABOUT = (
    "gpudbg runs real NVIDIA machine code (SASS, Maxwell to Blackwell) on an emulated streaming "
    "multiprocessor.  A program stops at any instruction; warps, lanes and every memory can be "
    "looked at and changed; it goes backwards; faults, hangs and races name the guilty thread.",
    "PROG is a cubin, a fat binary, a host program with one inside, a recording (.gpurec), CUDA "
    "C++ (.cu), PTX or SASS text, or a file of raw instruction words.  A launch is a table: flags, "
    "a file PROG.toml beside the program, or keywords of the Python API, with the same words.",
)
FILES = (
    ("PROG.toml", "the launch table of PROG; `gpudbg info PROG --launch` prints one to fill in"),
    (".gpudbgrc", "commands carried out at the start: in the user's configuration folder, and in "
     "the working directory when you have said yes to it as it is"),
    ("~/.cache/gpudbg", "compiled kernels; `gpudbg cache` says where, and how many"),
)  # fmt: skip
EXAMPLES = (
    ("gpudbg demo", "open the first of the shipped stories"),
    ("gpudbg saxpy.cubin --grid 4 --block 256 --arg x=f32[1024]:arange --arg n=1024",
     "debug a kernel"),
    ("gpudbg run saxpy.cubin", "run it to its end and show its outputs; PROG.toml says the launch"),
    ("gpudbg check saxpy.cubin", "look for races, bad accesses, unwritten values"),
    ("gpudbg --batch -ex 'break 12' -ex continue -ex 'info warps' saxpy.cubin",
     "a scripted session"),
    ("gpudbg help first-fault", "the first tutorial, in the terminal"),
)  # fmt: skip
_KEPT = (OptionScope.LAUNCH, OptionScope.MACHINE, OptionScope.DEVICE)


def man_page(version: str) -> str:
    """The whole page."""
    launching = [r for r in OPTIONS if r.scope in _KEPT and r.flags]
    compiling = [r for r in OPTIONS if r.scope is OptionScope.COMPILER and r.verbs and r.flags]
    lines = [
        '.\\" Made from the table of options when gpudbg is built; not written by hand.',
        f'.TH GPUDBG 1 "" "gpudbg {version}" "User Commands"',
        ".SH NAME", NAME,
        ".SH SYNOPSIS", *_usages(),
        ".SH DESCRIPTION", *_paragraphs(ABOUT),
        ".SH VERBS", *(line for verb in VERBS for line in _verb(verb)),
        ".SH FLAGS OF LAUNCHES", f"Taken by {_names(LAUNCHING)}.", *_options(launching),
        ".SH FLAGS OF COMPILERS", f"Taken by {_names(COMPILERS)}.", *_options(compiling),
        ".SH CONSOLE",
        *_paragraphs((
            "At the prompts gdb's commands and abbreviations work, cuda-gdb's GPU commands beside "
            "them.  `help` lists them, `help COMMAND` explains one, `help expressions` the "
            "language of values.  `gpudbg help COMMAND` says the same outside of a session.",
        )),
        ".SH EXIT STATUS", *_pairs((str(n), what) for n, what in EXIT_CODES.items()),
        ".SH ENVIRONMENT",
        *_pairs((name, f"{values}: {what}") for name, (values, what) in ENVIRONMENT.items()),
        ".SH FILES", *_pairs(FILES),
        ".SH EXAMPLES", *_pairs(EXAMPLES),
        ".SH SEE ALSO",
        *_paragraphs((
            "`gpudbg help` lists tutorials, how-tos, explanations and the reference; `gpudbg help "
            "TOPIC` opens a page, without a network.  `gpudbg VERB --help` says what a verb takes.",
        )),
        ".BR gdb (1)",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _usages() -> Iterator[str]:
    for words in ("gpudbg [OPTION ...] PROG", "gpudbg VERB [OPTION ...] [OPERAND ...]"):
        yield from (f".B {words.partition(' ')[0]}", _plain(words.partition(" ")[2]), ".br")


def _verb(verb: str) -> Iterator[str]:
    yield from (f".SS {_plain(synopsis(verb))}", _marked(_sentence(VERBS[verb])))
    more = [w for w, verbs in (("launches", LAUNCHING), ("compilers", COMPILERS)) if verb in verbs]
    if more:
        yield f"It takes the flags of {' and of '.join(more)}, too."
    rows = own_rows(verb)
    operands = [r for r in rows if not r.flags and r.scope is OptionScope.VERB and r.help]
    yield from _pairs((_operand(r), _said(r)) for r in operands)
    yield from _options([r for r in rows if r.flags])


def _operand(row: OptionSpec) -> str:
    return row.metavar or row.name.upper()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _options(rows: Sequence[OptionSpec]) -> Iterator[str]:
    for row in rows:
        value = "" if row.kind is OptionKind.SWITCH else row.metavar or row.name.upper()
        flags = ", ".join(f"\\fB{_plain(flag)}\\fR" for flag in row.flags)
        yield from (".TP", f"{flags} \\fI{_plain(value)}\\fR" if value else flags)
        yield _marked(_said(row))


def _said(row: OptionSpec) -> str:
    """An option's help with its words and its default."""
    text = row.help.rstrip("; :")
    if row.choices and row.choices[0] not in text:
        text += f"; one of {', '.join(row.choices)}"
    if row.default not in (None, "", ()):
        shown = ",".join(row.default) if isinstance(row.default, tuple) else row.default
        text += f" (default {shown})" if "default" not in text else ""
    return text


def _pairs(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for word, what in rows:
        yield from (".TP", f"\\fB{_plain(word)}\\fR", _marked(what))


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (".PP", _marked(text))


def _names(verbs: Sequence[str]) -> str:
    return ", ".join("\\fBgpudbg PROG\\fR" if v == "tui" else f"\\fB{v}\\fR" for v in verbs)


def _marked(text: str) -> str:
    """A sentence; what stands in code type is bold."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    return "".join(
        f"\\fB{_plain(part)}\\fR" if number % 2 else _plain(part, number == 0)
        for number, part in enumerate(parts)
    )


def _plain(text: str, begins: bool = False) -> str:
    """Text without marks of roff: a dash stays a dash, a dot at the beginning is no request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{text}" if begins and text[:1] in (".", "'") else text
