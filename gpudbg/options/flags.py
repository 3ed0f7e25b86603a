"""Flags of the command line, made of the rows of the schema."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpudbg.architectures import RUN, real
from gpudbg.arguments import integer, suggest, whole
from gpudbg.options.spec import MAX_INTEGER, OptionKind, OptionSpec

More = Mapping[str, Any]
"""Keywords for argparse that a verb adds to a row: choices, or a type, that layers above know."""


def add_options(
    parser: argparse.ArgumentParser, rows: Iterable[OptionSpec], more: Mapping[str, More]
) -> None:
    """Add flags and operands to a parser.

    Args:
        parser: that reads them.
        rows: which, in the order of help texts.
        more: by the name of a row, what its verb adds; a help text goes behind the row's own.
    """
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for row in rows:
        if row.group not in groups:
            groups[row.group] = parser.add_argument_group(row.group)
        place = groups[row.group]
        if row.exclusive:
            if row.exclusive not in groups:
                groups[row.exclusive] = place.add_mutually_exclusive_group()
            place = groups[row.exclusive]
        given = _keywords(row) | dict(more.get(row.name, {}))
        given["help"] = row.help + more.get(row.name, {}).get("help", "") or None
        if row.flags:
            place.add_argument(*row.flags, dest=row.dest, **given)
        else:
            place.add_argument(row.name, **given)


def _keywords(row: OptionSpec) -> dict[str, Any]:
    """Keywords for argparse that a row stands for."""
    given: dict[str, Any] = {"default": row.default, "metavar": row.metavar or None}
    if row.count:
        given["nargs"] = row.count
    match row.kind:
        case OptionKind.WHOLE:
            given["type"] = whole(row.least, None if row.most >= MAX_INTEGER else row.most)
        case OptionKind.NUMBER:
            given["type"] = integer
        case OptionKind.TEXTS:
            given |= {"action": "append", "default": []}
        case OptionKind.ARCH:
            given |= {"type": architecture, "metavar": "sm_NN"}
        case OptionKind.CHOICE:
            given["choices"] = row.choices or None
        case OptionKind.WORDS:
            given["default"] = ",".join(row.default if isinstance(row.default, tuple) else ())
        case OptionKind.SWITCH:
            return {"action": "store_true"}
        case OptionKind.STEPS:
            given["action"] = Step
        case OptionKind.REST:
            given["nargs"] = argparse.REMAINDER
    return given


def architecture(text: str) -> str:
    """An argparse type: sm_80, or compute_80 as compilers write it."""
    arch = real(text)
    if arch not in RUN:
        raise argparse.ArgumentTypeError(f"unknown architecture '{text}' ({suggest(arch, RUN)})")
    return arch


class Step(argparse.Action):
    """Collects -x and -ex in the order they were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        steps = list(getattr(namespace, self.dest) or [])
        steps.append((option_string, values))
        setattr(namespace, self.dest, steps)
