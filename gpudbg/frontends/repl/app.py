"""gpudbg repl: rc files, then IPython or the built-in prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.errors import CommandError
from gpudbg.frontends.repl import ipython, prompt
from gpudbg.frontends.repl.places import Places
from gpudbg.frontends.repl.shell import Shell

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

BANNER = """\
{stop}
Python with dbg, program, device, np; commands as in gdb (`help`, `info warps`, `!x/4i $pc`)."""


def run_repl(
    session: DebugSession,
    *,
    plain: bool = False,
    rc: bool = True,
    trust: bool = False,
    places: Places | None = None,
) -> int:
    """Run the prompt to its end.

    Args:
        session: what `dbg` is.
        plain: the built-in prompt even where IPython is installed.
        rc: carry out `.gpudbgrc` files.
        trust: trust the project's `.gpudbgrc` from now on.
        places: the user's folders; the platform's unless given.
    """
    places = places or Places.of_user()
    shell = Shell(session)
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if terminal:
        print(BANNER.format(stop=session.stop.message if session.stop else ""), flush=True)
    if rc:
        _carry_out_rc(shell, places, trust, terminal)
    if shell.quit_requested:
        return shell.exit_code()
    if not terminal:
        well = prompt.read_stream(shell)
        return shell.exit_code() or (0 if well else CommandError.exit_code)
    if ipython.installed() and not plain:
        ipython.interact(shell, places)
    else:
        prompt.interact(shell, places)
    return shell.exit_code()


def _carry_out_rc(shell: Shell, places: Places, trust: bool, terminal: bool) -> None:
    files = [places.rc] if places.rc.is_file() else []
    project = places.project_rc
    if project is not None and _allowed(places, project, trust, terminal):
        files.append(project)
    for file in files:
        try:
            shell.run_file(file)
        except CommandError as error:
            print(f"gpudbg: {error}", file=sys.stderr)


def _allowed(places: Places, project: Path, trust: bool, terminal: bool) -> bool:
    """Whether the project's rc may run: trusted before, by flag, or by an answer."""
    if trust:
        places.trust(project)
    if places.trusts(project):
        return True
    if not terminal:
        print(
            f"gpudbg: {project} is not trusted and was not run (--trust trusts it)",
            file=sys.stderr,
        )
        return False
    try:
        answer = input(f"{project} can run any code. Run it? [y]es, [a]lways, [N]o: ")
    except (EOFError, KeyboardInterrupt):
        print()
        return False
    if answer.strip().lower() in ("a", "always"):
        places.trust(project)
    return answer.strip().lower() in ("y", "yes", "a", "always")
