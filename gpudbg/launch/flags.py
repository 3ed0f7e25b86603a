"""Launch flags: the launch table on a command line, in `set args`, in `run`, and as texts."""

from __future__ import annotations

import argparse
import copy
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gpudbg.errors import UsageError
from gpudbg.formats.launch_text import split_name
from gpudbg.options import (
    FLAGS,
    OptionKind,
    OptionScope,
    add_compiler_options,
    add_launch_options,
)
from gpudbg.sm.schedule.plan import SchedulePlan

if TYPE_CHECKING:
    from gpudbg.formats.launch import Launch
    from gpudbg.formats.program import Program


def add_launch_flags(parser: argparse.ArgumentParser) -> None:
    """The launch table as flags, the same on every verb that launches."""
    add_launch_options(parser, schedule={"type": _schedule, "default": argparse.SUPPRESS})
    add_compiler_options(parser)


def _schedule(text: str) -> int:
    """The value of --schedule, as a seed."""
    return SchedulePlan.read(text).seed


class FlagParser(argparse.ArgumentParser):
    """Launch flags; a bad one is a UsageError, not an exit."""

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise UsageError(f"program arguments are launch flags: {message}")


def launch_parser() -> FlagParser:
    """A parser of launch flags alone."""
    parser = FlagParser(prog="gpudbg", add_help=False, allow_abbrev=False)
    add_launch_flags(parser)
    return parser


def program_first(words: Sequence[str]) -> list[str]:
    """`--grid 1 PROG --block 32` as `PROG --grid 1 --block 32`."""
    actions = launch_parser()._actions
    valued = {name for one in actions if one.nargs != 0 for name in one.option_strings}
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        at += 2 if words[at] in valued else 1
    return [*words[at : at + 1], *words[:at], *words[at + 1 :]]


LAUNCH_ONLY: dict[str, Any] = {
    row.dest: [] if row.kind is OptionKind.TEXTS else None
    for row in FLAGS
    if row.scope is OptionScope.LAUNCH
}
"""Flags of one launch, with what stands for none given; the others are the machine's."""

OF_THE_START = tuple(row.dest for row in FLAGS if row.scope is OptionScope.DEVICE)
"""Flags that a device is made with: they do not change while it lives."""


def flags_over(
    old: argparse.Namespace, words: Sequence[str], fresh: bool = False
) -> argparse.Namespace:
    """Flags with others laid over them.

    Args:
        old: what was given so far.
        words: more flags.
        fresh: forget the old flags of the launch (`LAUNCH_ONLY`) first.

    Raises:
        UsageError: no launch flag, or one that cannot change any more.
    """
    made = copy.deepcopy(old)
    if fresh:
        for name, value in LAUNCH_ONLY.items():
            setattr(made, name, copy.copy(value))
    given = launch_parser().parse_args(list(words))
    if not all(split_name(text)[0] for text in given.arg):
        # A whole list: it goes over what was there, not behind it.
        made.arg = []
    made = launch_parser().parse_args(list(words), namespace=made)
    for name in OF_THE_START:
        if getattr(made, name) != getattr(old, name, None):
            raise UsageError(
                f"--{name} is the device's, which is there already",
                f"start gpudbg with --{name} {getattr(made, name)}",
            )
    return made


def flag_words(args: argparse.Namespace) -> list[str]:
    """The flags of the launch as they were given."""
    out: list[str] = []
    for name in LAUNCH_ONLY:
        value = getattr(args, name, None)
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                out += [f"--{name}", str(item)]
    return out


def flag_text(args: argparse.Namespace) -> str:
    """`flag_words` as one line."""
    return shlex.join(flag_words(args))


def read_table(
    path: str | Path, args: argparse.Namespace, program: Program | None = None
) -> Launch:
    """The launch table beside a program (or of --launch) with the flags laid over it.

    Args:
        path: the program's path.
        args: what `add_launch_flags` parsed.
        program: the program, once it has been read: `--arg NAME=…` goes by its parameters.
    """
    from gpudbg.formats.launch_toml import beside, read_launch

    table = Path(args.launch) if args.launch else beside(path)
    base = read_launch(table) if table is not None else None
    return table_over(base, args, program)


def table_over(
    base: Launch | None, args: argparse.Namespace, program: Program | None = None
) -> Launch:
    """Flags laid over a launch table."""
    from gpudbg.formats.launch import SmSpec
    from gpudbg.formats.launch_toml import flag_launch

    base = _fitting(base, args.kernel, program)
    return flag_launch(
        base,
        kernel=args.kernel,
        grid=args.grid,
        block=args.block,
        cluster=args.cluster,
        shared_bytes=args.shared,
        args=args.arg,
        symbols=args.symbol,
        outputs=args.output,
        sm=SmSpec(args.arch, args.num_sms, args.seed, args.heap, args.stack),
        parameters=parameter_names(program, args.kernel or (base.kernel if base else None)),
    )


def parameter_names(program: Program | None, kernel: str | None) -> Sequence[str] | None:
    """Names of the parameters of the kernel to launch; None where they are not known."""
    from gpudbg.formats.launch import pick_kernel
    from gpudbg.launch.prepare import kernel_name
    from gpudbg.toolchain.signatures import names_of

    if program is None:
        return None
    try:
        found = pick_kernel(program, kernel_name(program, kernel))
    except UsageError:
        return None
    return names_of(program, found)


def _fitting(base: Launch | None, kernel: str | None, program: Program | None) -> Launch | None:
    """A table without its arguments where they are of another kernel and do not fit this one."""
    from gpudbg.formats.launch import bind
    from gpudbg.launch.prepare import kernel_name

    if base is None or base.kernel is None or kernel is None or program is None:
        return base
    found = program.kernels.get(kernel_name(program, kernel) or "")
    if found is None or found.name == kernel_name(program, base.kernel):
        return base
    try:
        bind(found, base.args)
    except UsageError:
        return replace(base, args=(), outputs=())
    return base
