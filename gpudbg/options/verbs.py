"""Options and operands of verbs of the command line, beside those of launches and compilers."""

from __future__ import annotations

from typing import Any

from gpudbg.options.spec import OptionKind, OptionScope, OptionSpec

WHOLE, NUMBER, TEXT, TEXTS = (
    OptionKind.WHOLE, OptionKind.NUMBER, OptionKind.TEXT, OptionKind.TEXTS,
)  # fmt: skip
ARCH, CHOICE, SWITCH, STEPS, REST = (
    OptionKind.ARCH, OptionKind.CHOICE, OptionKind.SWITCH, OptionKind.STEPS, OptionKind.REST,
)  # fmt: skip


def _flag(verbs: str, flag: str, kind: OptionKind, text: str = "", **more: Any) -> OptionSpec:
    """A flag of some verbs, whose names stand with commas between them."""
    name = flag.replace("-", "_")
    return OptionSpec(
        name, OptionScope.VERB, kind, text, flag, verbs=tuple(verbs.split(",")), **more
    )


def _operand(verbs: str, name: str, text: str = "", **more: Any) -> OptionSpec:
    """A word of some verbs that no flag stands before."""
    kind = more.pop("kind", TEXT)
    return OptionSpec(name, OptionScope.VERB, kind, text, verbs=tuple(verbs.split(",")), **more)


_SCRIPTED = "scripted sessions"
_EVERY_LAUNCH = "debugging: every launch is a place to stop"
_SURFACE = "decode surface"
_PLACE = "X[,Y[,Z]]"

OPERANDS = (
    _operand("tui", "program", "a cubin, or raw words with PROG.toml beside them"),
    _operand("repl", "program", "a cubin, a .cu or .ptx file, or any other program"),
    _operand(
        "info", "program",
        "a program; or `isa` (what the model covers), `schema` (of --json), `policy` (what it "
        "assumes), `engine`, `special` (registers), `nsight` (the path of a cuda-gdb)",
    ),
    _operand("info", "words", "of policy and special: what to look for", count="*"),
    _operand("export", "kind", kind=CHOICE, choices=("surface", "texture")),
    _operand("run,record,dis,export", "program"),
    _operand("check", "programs", "files, or folders of them", metavar="PROGRAM", count="+"),
    _operand("export", "name", "the surface, as the launch table or argument names it"),
    _operand("export", "file", "ends in .png (a picture) or .npy (the whole array)"),
    _operand("asm", "file", "the .sass file; - is standard input"),
    _operand("script", "file", metavar="FILE.py"),
    _operand("demo", "name", count="?"),
    _operand("help", "topic", "a page, a verb, a command, a setting, an error …", count="*"),
    _operand("completion", "shell", kind=CHOICE, choices=("bash", "zsh", "fish")),
    _operand("exec", "words", kind=REST, metavar="PROGRAM [ARGUMENT ...]"),
    _operand("mcp", "folder", "what calls may read and write", default=".", count="?"),
    _operand("cache", "action", kind=CHOICE, choices=("show", "clear"), default="show", count="?"),
    _operand(_SURFACE, "header", "the texture header: eight words or 64 digits", count="*"),
    _operand("decode insn", "word", "0x…, or all its hex digits", count="+"),
)  # fmt: skip

FLAGS_OF_RUNS = (
    _flag(
        "run,record", "max-instructions", WHOLE, "stop after N warp instructions",
        least=1, metavar="N",
    ),
    _flag("export", "until", TEXT, "stop there instead of running to the end", metavar="PLACE"),
    _flag("export", "slice", WHOLE, "layer, face or z slice of a picture", default=0),
    _flag("export", "zoom", WHOLE, "pixels across per texel of a picture", least=1, default=1),
    _flag("export", "max-instructions", WHOLE, least=1, metavar="N"),
    _flag("run", "check", TEXTS, "watch for mistakes; ", metavar="NAME"),
    _flag(
        "run,exec,tui,repl", "record-on-fault", TEXT,
        "where the kernel fails, write a recording that `gpudbg FILE.gpurec` opens",
        metavar="FILE.gpurec",
    ),
    _flag("run", "quiet", SWITCH, "only the exit code", short="q"),
    _flag(
        "record", "recording", TEXT, "the recording (default: PROG.gpurec)",
        spelled=("-o",), metavar="FILE.gpurec",
    ),
    _flag(
        "tui", "batch", SWITCH, "no terminal UI; end after the commands", group=_SCRIPTED,
    ),
    _flag("exec", "arch", ARCH, "of the GPU (default: sm_80)", default="sm_80"),
    _flag("exec", "sms", WHOLE, "streaming multiprocessors of the GPU", least=1, most=511),
    _flag(
        "exec", "engine", CHOICE, "as for `run`", default="auto", choices=("auto", "step", "run"),
    ),
    _flag(
        "exec", "on-fault", CHOICE, "as for `run`: whether wild accesses are dropped and noted",
        default="stop", choices=("stop", "continue"),
    ),
    _flag(
        "exec", "check", SWITCH,
        "look for races and other mistakes in each launch: standard error gets one line; a program "
        "that ends with 0 exits 1 for findings, 4 for what cannot be judged",
    ),
    _flag("exec", "checks", TEXT, "those of --check, as for `check`", metavar="A,B"),
    _flag("exec", "suppressions", TEXT, "of --check: rules of what counts not", metavar="FILE"),
    _flag(
        "exec", "timeout", WHOLE,
        "of --check: of one launch; it runs on unchecked, and what was found until then stays",
        least=1, metavar="SECONDS",
    ),
    _flag(
        "exec", "report", TEXT, "write what --check finds there",
        spelled=("--report", "-o"), metavar="FILE",
    ),
    _flag(
        "exec", "format", CHOICE, "of the report",
        choices=("text", "json", "sarif", "junit", "github"), default="text",
    ),
    _flag(
        "exec", "debug", SWITCH, "the terminal UI, or the console, at the first launch",
        group=_EVERY_LAUNCH,
    ),
    _flag("exec", "console", SWITCH, "the console, not the terminal UI", group=_EVERY_LAUNCH),
    _flag(
        "exec", "interpreter", TEXT, "GDB/MI on standard input and output", short="i",
        group=_EVERY_LAUNCH, metavar="mi",
    ),
    _flag(
        "exec", "batch", SWITCH, "end after the commands; the program runs on",
        group=_EVERY_LAUNCH,
    ),
    *(
        _flag(
            verb, "script", STEPS, text, spelled=(letters,), metavar=metavar, group=group,
        )
        for verb, group in (("tui", _SCRIPTED), ("exec", _EVERY_LAUNCH))
        for letters, metavar, text in (
            ("-x", "FILE", "a file of commands"), ("-ex", "COMMAND", "one command"),
        )
    ),
    _flag(
        "exec", "stop-at-launch", WHOLE, "stop first at the Nth launch, from 1",
        least=1, metavar="N", group=_EVERY_LAUNCH,
    ),
    _flag(
        "exec", "tty", TEXT,
        "the program has this terminal for its input and output (as gdb's -tty); a file would do",
        metavar="TERMINAL", spelled=("--tty", "-tty"), group=_EVERY_LAUNCH,
    ),
    _flag(
        "tui", "allow-shell", SWITCH, "let `shell`, `make` and `pipe` run programs",
        group=_SCRIPTED,
    ),
    _flag("tui", "json", SWITCH, "answers as JSON, one object a line", group=_SCRIPTED),
    _flag("tui", "console", SWITCH, "the line console, not the terminal UI", group=_SCRIPTED),
    _flag("repl", "plain", SWITCH, "the built-in prompt, not IPython"),
    _flag("repl", "no-rc", SWITCH, "no .gpudbgrc files"),
    _flag("repl", "trust", SWITCH, "trust ./.gpudbgrc as it is now"),
    _flag("demo", "list", SWITCH, "list the stories"),
    _flag("demo", "copy", SWITCH, "write its files into a folder of its name here"),
    _flag("demo", "headless", SWITCH, "play it as text, no terminal UI"),
    _flag(
        "serve", "host", TEXT, "where to listen (default: this machine)", default="127.0.0.1",
    ),
    _flag("serve", "port", TEXT, "default 8000; 0: a free one", default="8000"),
    _flag(
        "mcp", "max-instructions", WHOLE, "warp instructions of one run",
        least=1, default=200_000_000, metavar="N",
    ),
    _flag("mcp", "timeout", WHOLE, "of one call", least=1, default=60, metavar="SECONDS"),
    _flag(
        "mcp", "memory-mb", WHOLE, "memory of all that is open", least=256, default=4096,
        metavar="N",
    ),
    _flag(
        "mcp", "answer-chars", WHOLE, "of one answer; `more` has the rest",
        least=200, default=4000, metavar="N",
    ),
    _flag("dap", "port", TEXT, "listen on this port of the loopback instead; 0: a free one"),
)  # fmt: skip

FLAGS_OF_CODE = (
    _flag(
        "asm", "output", TEXT, "write the raw bundles of one function",
        spelled=("-o", "--output"), metavar="PROG.bin",
    ),
    _flag("asm", "cubin", TEXT, "write a cubin", metavar="PROG.cubin"),
    _flag(
        "asm", "from", TEXT,
        "with --cubin: everything but the code (parameters, data, symbols) is that file's",
        attribute="template", metavar="OTHER.cubin",
    ),
    _flag("asm", "toml", SWITCH, "with -o: a launch table beside it"),
    _flag("asm", "kernel", TEXT, "the function that -o writes", short="k", metavar="NAME"),
    _flag("asm", "arch", ARCH, "architecture, against the file's own"),
    _flag("asm", "check", SWITCH, "report hazards; exit code 1 when there are"),
    _flag("dis", "kernel", TEXTS, "only this function", short="k", metavar="NAME"),
    _flag("dis", "range", TEXT, "only these offsets, END excluded", metavar="START:END"),
    _flag("dis", "raw", SWITCH, "the file is bare 32-byte bundles"),
    _flag("dis", "arch", ARCH, "architecture (of raw words)"),
    _flag(
        "dis", "control", CHOICE,
        "control words: as words (default), decoded beside each instruction, or not at all",
        choices=("hex", "fields", "none"), default="hex",
    ),
    _flag("dis", "no-bytes", SWITCH, "leave the words out"),
    _flag("dis", "source", SWITCH, "interleave source lines", short="s"),
    _flag(
        "dis", "lanes", TEXT,
        "say beside each instruction how a warp's lanes lie and why they may part, for blocks of "
        "this shape", metavar="X[,Y[,Z]]",
    ),
    _flag("dis", "blocks", SWITCH, "mark basic blocks and their edges"),
    _flag("dis", "cfg", CHOICE, "the control-flow graph instead", choices=("text", "dot")),
    _flag("dis", "braces", SWITCH, "mark dual-issue pairs, as nvdisasm does"),
    _flag(
        "dis", "directives", SWITCH,
        "add registers, parameters and data, so that `gpudbg asm` gives the same program",
    ),
    _flag("dis", "isa", TEXT, "an instruction set that a plugin adds", metavar="NAME"),
    _flag("info", "kernel", TEXT, "only this kernel", short="k", metavar="NAME"),
    _flag(
        "info", "launch", SWITCH,
        "print a launch table to start from (gpudbg info PROG --launch > PROG.toml)",
    ),
    _flag("info", "arch", ARCH, "of a source file; with `isa`: one architecture"),
    _flag("decode insn", "arch", ARCH, default="sm_50"),
    _flag("decode insn", "pc", NUMBER, "its byte address (default: the first one)"),
    _flag("plugins", "plugin", TEXTS, "also look here", metavar="PATH"),
    _flag("plugins", "check", SWITCH, "import everything that they add"),
)  # fmt: skip

FLAGS_OF_SURFACES = (
    _flag(_SURFACE, "width", WHOLE, "describe the surface instead", least=1),
    _flag(_SURFACE, "height", WHOLE, least=1, default=1),
    _flag(_SURFACE, "depth", WHOLE, "slices or layers", least=1, default=1),
    _flag(_SURFACE, "format", CHOICE, default="R32"),
    _flag(_SURFACE, "version", CHOICE, default="BLOCKLINEAR", metavar="VERSION"),
    _flag(_SURFACE, "texture-type", CHOICE, default="TWO_D", metavar="TYPE"),
    _flag(_SURFACE, "block-height", WHOLE, "GOBs of a block, 1 to 32", default=1),
    _flag(_SURFACE, "block-depth", WHOLE, default=1),
    _flag(_SURFACE, "pitch", WHOLE, default=0),
    _flag(_SURFACE, "base", NUMBER, "address of the surface", default=0),
    _flag(_SURFACE, "ra", TEXT, "values of Ra, Ra+1, Ra+2", metavar=_PLACE, exclusive="place"),
    _flag(_SURFACE, "at", TEXT, "coordinates, x in texels", metavar=_PLACE, exclusive="place"),
    _flag(
        _SURFACE, "offset", NUMBER, "a byte offset from the surface's start", exclusive="place",
    ),
    _flag(_SURFACE, "address", NUMBER, "a device address", exclusive="place"),
    _flag(_SURFACE, "dim", CHOICE, "of the instruction; default by the header"),
    _flag(_SURFACE, "size", TEXT, "of the access: ", default="32"),
    _flag(_SURFACE, "ba", SWITCH, "x of --ra counts bytes"),
    _flag(_SURFACE, "clamp", CHOICE, default="NEAR"),
    _flag(_SURFACE, "view", CHOICE, "of --offset and --address", default="vm"),
)  # fmt: skip

FLAGS_FOR_PROGRAMS = (
    _flag("run,record,info,plugins,cache,doctor", "json", SWITCH, "the answer as JSON"),
    _flag("help", "man", SWITCH, "print the page that `man gpudbg` shows, for `man -l -`"),
    _flag("asm", "json", SWITCH, "what was made, and hazards, as JSON"),
    _flag("dis", "json", SWITCH, "the same as JSON"),
    _flag("demo", "json", SWITCH, "with --list: the same as JSON"),
    _flag("export", "json", SWITCH, "the file and how the run ended, as JSON"),
)
"""Answers for programs."""

VERB_OPTIONS = (
    *OPERANDS, *FLAGS_OF_RUNS, *FLAGS_OF_CODE, *FLAGS_OF_SURFACES, *FLAGS_FOR_PROGRAMS,
)  # fmt: skip
"""All of them, in the order that help texts list them."""
