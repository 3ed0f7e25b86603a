"""What is launched: launch, info launch, save launch, and the settings `args` and `launch …`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.answers import Card, Notice, Sections, Table, column, computed, lines_of, typed_row
from gpudbg.answers.formats import ROWS
from gpudbg.answers.records import HEADLESS
from gpudbg.answers.words import significant
from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import quoted_words
from gpudbg.errors import CommandError
from gpudbg.formats.launch import MissingArguments
from gpudbg.launch.flags import flag_text, launch_parser
from gpudbg.launch.opening import Opening
from gpudbg.options import FLAGS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.device.device import DeviceBuffer
    from gpudbg.formats.program import Kernel
    from gpudbg.launch.form import LaunchForm

SETTINGS = {
    "args": "",
    **{f"launch {row.flag}": f"--{row.flag}" for row in FLAGS if row.setting},
}
"""Setting of the next launch -> the flag that it stands for; `args` replaces all of them."""


def opening_of(session: DebugSession) -> Opening:
    """What the session was opened with; for one from Python, its launch without flags."""
    if session.opening is not None:
        return session.opening
    base = getattr(session.launch, "table", None)
    return Opening(session.program.path, launch_parser().parse_args([]), base)


def plan(session: DebugSession, words: list[str], fresh: bool = False) -> None:
    """Take launch flags for the next start; errors as `DebugSession.plan`."""
    if words or fresh:
        session.plan(laid_over(session, words, fresh))


def laid_over(session: DebugSession, words: list[str], fresh: bool = False) -> Opening:
    """The session's launch flags, overridden by `words`.

    Arguments of another kernel are forgotten where they do not fit the one that is named now.
    """
    old = opening_of(session)
    new = old.with_flags(words, fresh)
    if new.flags.kernel == old.flags.kernel or new.flags.arg != old.flags.arg:
        return new
    trouble = new.trouble(new.loaded(session.launch.loaded).program)
    fits = trouble is None or isinstance(trouble, MissingArguments)
    return new if fits else new.without_arguments()


def set_launch(session: DebugSession, name: str, value: str) -> str:
    """`set args …`, `set launch grid 4`; the value it has now.

    Raises:
        CommandError: a value is missing.
        GpudbgError: as `DebugSession.plan`.
    """
    flag = SETTINGS[name]
    if not flag:
        plan(session, quoted_words(value), fresh=True)
    elif value:
        plan(session, [flag, value])
    else:
        raise CommandError(f"set {name} needs a value", "set launch grid 4, set launch arg n=100")
    return shown_launch(session, name)


def shown_launch(session: DebugSession, name: str) -> str:
    """The value of one of `SETTINGS`."""
    flags = opening_of(session).flags
    if not SETTINGS[name]:
        return flag_text(flags)
    form = form_of(session)
    if name == "launch arg":
        return " ".join(f"{a.name}={a.text}" for a in form.arguments if a.text)
    return str(getattr(form, name.partition(" ")[2]))


def planned_kernel(session: DebugSession) -> tuple[Opening, Kernel]:
    """The kernel that the next start launches, or would."""
    opening = opening_of(session)
    return opening, opening.kernel(session.program)


def form_of(session: DebugSession) -> LaunchForm:
    """The next launch as texts: what is given, and a proposal for the rest."""
    opening, kernel = planned_kernel(session)
    return opening.form(session.program, kernel)


@command(
    "launch",
    usage="launch [KERNEL] [FLAGS]",
    help="start a kernel with what is given, and with what is proposed for the rest",
    group="running",
    details="FLAGS are those of the command line: --grid, --block, --shared, --arg NAME=VALUE.\n"
    "`info launch` shows what is proposed; `run` and `start` take nothing that was not given.",
    completer=lambda s, text: [
        k for k in (*s.program.kernels, *s.program.elsewhere) if k.startswith(text)
    ],
)
def launch(session: DebugSession, argument: str) -> Sections:
    """Start a kernel, at its entry."""
    from gpudbg.debug.commands.run import stop_answer

    words, form = completed(session, argument)
    session.plan(laid_over(session, words) if form is None else opening_of(session).with_form(form))
    added = "" if form is None else f"run {shlex.join(words)}"
    stop = session.restart()
    return Sections((Notice(added), stop_answer(session, stop)), stop)


def completed(session: DebugSession, argument: str) -> tuple[list[str], LaunchForm | None]:
    """The flags that `launch ARGUMENT` adds, and the form they say where something was proposed.

    Raises:
        GpudbgError: flags that cannot be read, a kernel that is not there.
    """
    words = quoted_words(argument)
    if words and not words[0].startswith("-"):
        words = ["--kernel", *words]
    opening = laid_over(session, words)
    loaded = opening.loaded(session.launch.loaded)
    if opening.trouble(loaded.program) is None:
        return words, None
    form = opening.form(loaded.program, opening.kernel(loaded.program))
    if opening.with_form(form).trouble(loaded.program) is not None:
        return words, None
    return form.flags(), form


@command(
    "info launch",
    help="what `run` launches: kernel, grid, block, arguments, and what is missing",
    group="status",
    needs="nothing",
    details="Values in brackets are proposed, not given: `launch` takes them.",
)
def info_launch(session: DebugSession, argument: str) -> Card:
    """Show the next launch; where a host program launches, the present one."""
    from gpudbg.errors import UsageError
    from gpudbg.launch.form import form_of as texts
    from gpudbg.launch.form import signature

    if session.opening is None and session.launching.source is not None:
        return Card(present_launch(session), PlannedLaunch.lines)
    opening, kernel = planned_kernel(session)
    form = opening.form(session.program, kernel)
    trouble = opening.trouble(session.program)
    try:
        given = texts(session.program, kernel, opening.table(session.program))
        named = {a.name for a in given.arguments if a.text} | opening.named_arguments()
    except UsageError:
        named = opening.named_arguments()
    return Card(
        PlannedLaunch(
            signature=signature(session.program, kernel),
            kernel=form.kernel,
            grid=form.grid,
            block=form.block,
            shared=form.shared,
            arguments=tuple(
                PlannedArgument(a.name, a.type, a.text, a.name in named) for a in form.arguments
            ),
            missing=trouble.message if trouble is not None else "",
            launched=session.launched,
            trouble=str(trouble) if trouble is not None else "",
            cluster=form.cluster,
        ),
        PlannedLaunch.lines,
    )


@typed_row
class PlannedArgument:
    """An argument of the next launch; one that was not given is proposed."""

    indented = computed("", lambda a: f"  {a.name}")
    shown = computed("", lambda a: a.value if a.given else f"[{a.value}]")
    name: str = column()
    type: str = column("")
    value: str = column()
    given: bool = column()


@typed_row
class PlannedSize:
    """A size of the next launch."""

    name: str = column("")
    value: str = column("")
    meaning: str = column("")


@typed_row
class PlannedLaunch:
    """What `run` launches, and what is missing for it."""

    signature: str = column(key="")
    kernel: str = column()
    grid: str = column()
    block: str = column()
    shared: str = column()
    arguments: tuple[PlannedArgument, ...] = column(None, ROWS)
    missing: str = column()
    launched: bool = column()
    trouble: str = column(key="")
    cluster: str = column(default="")

    def lines(self) -> list[str]:
        """The launch for people."""
        sizes: tuple[PlannedSize, ...] = (
            PlannedSize("  grid", self.grid, "blocks"),
            PlannedSize("  block", self.block, "threads of a block"),
            PlannedSize("  shared", self.shared, "bytes of dynamic shared memory"),
        )
        if self.cluster:
            sizes += (PlannedSize("  cluster", self.cluster, "blocks of a cluster"),)
        return [
            self.signature,
            *lines_of(Table(PlannedSize, sizes, style=HEADLESS)),
            *lines_of(Table(PlannedArgument, self.arguments, empty="", style=HEADLESS)),
            *([self.trouble] if self.trouble else []),
        ]


def present_launch(session: DebugSession) -> PlannedLaunch:
    """The launch that a host program has asked for."""
    from gpudbg.debug.views.arguments import argument_rows
    from gpudbg.launch.form import signature

    grid = session.grid
    config = grid.config
    return PlannedLaunch(
        signature=signature(session.program, session.kernel),
        kernel=session.kernel.name,
        grid=_sizes(grid.grid),
        block=_sizes(grid.block),
        shared=str(config.shared_dynamic),
        arguments=tuple(
            PlannedArgument(row.name, row.type, f"{row.text}{_within(given.buffer)}", True)
            for row, given in zip(argument_rows(session), session.launch.arguments, strict=True)
        ),
        missing="",
        launched=True,
        trouble="",
        cluster=_sizes(config.cluster) if config.clustered else "",
    )


def _within(buffer: DeviceBuffer | None) -> str:
    """Which allocation a pointer goes to."""
    return "" if buffer is None else f" in {buffer.allocation.name}"


def _sizes(sizes: tuple[int, int, int]) -> str:
    return ",".join(map(str, significant(sizes)))


def save_form(program: str, form: LaunchForm, name: str = "") -> Path:
    """Write a launch table; the file.

    Args:
        program: the program's path: its table lies beside it.
        form: what to write.
        name: another file; it may be there already.

    Raises:
        CommandError: it is there already and nobody named it, or it cannot be written.
    """
    path = Path(name).expanduser() if name else Path(program).with_suffix(".toml")
    if not name and path.exists():
        raise CommandError(f"{path} is there already", f"`save launch {path}` writes over it")
    try:
        path.write_text("\n".join(form.toml()) + "\n", encoding="utf-8")
    except OSError as e:
        raise CommandError(f"cannot write {path}: {e.strerror}") from None
    return path


@command(
    "save launch",
    usage="save launch [FILE]",
    help="write the launch table; beside the program it is taken from the next start on",
    group="running",
    needs="nothing",
)
def save_launch(session: DebugSession, argument: str) -> Notice:
    """Write the next launch as a table."""
    path = save_form(session.program.path, form_of(session), argument.strip())
    return Notice(f"saved to {path}", str(path))
