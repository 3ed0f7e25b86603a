"""gpudbg asm: SASS text to raw words and cubins."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg import assembler
from gpudbg.answers import LIST, ROWS, Card, column, typed_row
from gpudbg.arguments import Parser
from gpudbg.assembler import MAX_FILE_BYTES, SassProgram, assemble_file, text_of
from gpudbg.errors import EXIT_CLEAN, EXIT_FINDINGS, LoadError, UsageError
from gpudbg.frontends.verbs.common import emit
from gpudbg.loading import read_bytes
from gpudbg.options import add_verb_options
from gpudbg.textlines import opened

if TYPE_CHECKING:
    from gpudbg.analysis import Finding


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg asm",
        description="Assemble SASS text, such as the output of `gpudbg dis`.",
        epilog=(assembler.__doc__ or "").partition("A .sass file\n")[2].partition("\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_verb_options(p, "asm")
    args = p.parse_args(argv)
    if args.template and not args.cubin:
        raise UsageError("--from needs --cubin")
    if args.toml and not args.output:
        raise UsageError("--toml needs -o")
    if not (args.output or args.cubin or args.check):
        raise UsageError("nothing to write", "give -o PROG.bin or --cubin PROG.cubin")
    program = assemble_file(*_read(args.file), args.arch)
    if args.output:
        function = program.function(args.kernel)
        _write(args.output, function.code())
        if args.toml:
            table = Path(args.output).with_suffix(".toml")
            _write(str(table), function.toml(program.arch).encode())
    if args.cubin:
        _write(args.cubin, _cubin(program, args.template))
    findings = _hazards(program) if args.check else []
    files = tuple(file for file in (args.output, args.cubin) if file)
    made = AssembledFile.of(program, files, findings)
    if args.json or args.check:
        emit(Card(made, AssembledFile.lines), args.json)
    return EXIT_FINDINGS if findings else EXIT_CLEAN


@typed_row
class AssembledFunction:
    """A function that was assembled."""

    name: str = column()
    code_bytes: int = column()


@typed_row
class AssembledFile:
    """What was made of a file, and what `--check` found in it."""

    arch: str = column()
    functions: tuple[AssembledFunction, ...] = column(show=ROWS)
    files: tuple[str, ...] = column(show=LIST)
    findings: tuple[Finding, ...] = column(show=ROWS)

    @classmethod
    def of(
        cls, program: SassProgram, files: tuple[str, ...], findings: list[Finding]
    ) -> AssembledFile:
        """The record of a program and the files that were written."""
        functions = (AssembledFunction(f.name, len(f.code())) for f in program.functions)
        return cls(program.arch, tuple(functions), files, tuple(findings))

    def lines(self) -> list[str]:
        """The hazards for people."""
        count = len(self.findings)
        found = [line for finding in self.findings for line in finding.lines()]
        return [*found, f"{count} hazards" if count != 1 else "1 hazard"]


def _read(path: str) -> tuple[str, str]:
    """(text, name) of the file.

    Raises:
        LoadError: it cannot be read, or is no text.
    """
    name = "<stdin>" if path == "-" else path
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else opened(path) as file:
            return text_of(file.read(MAX_FILE_BYTES + 1), name), name
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"cannot be read: {reason}", path=name) from error


def _write(path: str, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be written: {error}") from error


def _cubin(program: SassProgram, template: str | None) -> bytes:
    if template is None:
        return program.cubin()
    from gpudbg.assembler import patch_cubin

    return patch_cubin(read_bytes(template), program, template)


def _hazards(program: SassProgram) -> list[Finding]:
    """The hazards of every function."""
    from gpudbg.analysis import check_code

    found: list[Finding] = []
    for function in program.functions:
        code, known = function.code(), function.targets
        found += check_code(code, program.arch, function.name, known=known)
    return found
