"""The same prompt in IPython, where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gpudbg.errors import GpudbgError
from gpudbg.frontends.repl.complete import Completer
from gpudbg.frontends.repl.lines import as_command
from gpudbg.frontends.repl.show import lines_of, shown_types

if TYPE_CHECKING:
    from gpudbg.frontends.repl.places import Places
    from gpudbg.frontends.repl.shell import Shell

RUN = "__gpudbg_command__"


def installed() -> bool:
    """Whether IPython can be used."""
    return find_spec("IPython") is not None


def interact(shell: Shell, places: Places) -> None:
    """Run IPython on the shell's namespace until it ends."""
    from IPython.terminal.interactiveshell import TerminalInteractiveShell
    from traitlets.config import Config

    config = Config()
    config.TerminalInteractiveShell.confirm_exit = False
    config.TerminalInteractiveShell.separate_in = ""
    if hasattr(TerminalInteractiveShell, "enable_tip"):
        config.TerminalInteractiveShell.enable_tip = False
    history = places.history
    if history is not None:
        config.HistoryManager.hist_file = str(history.with_name("ipython_history.sqlite"))
    terminal: Any = TerminalInteractiveShell.instance(config=config, user_ns=shell.names)
    attach(terminal, shell)
    terminal.mainloop()


def attach(terminal: Any, shell: Shell) -> None:
    """Teach an IPython shell commands, views, completion and gpudbg's errors."""
    shell.names[RUN] = lambda line: _run(terminal, shell, line)
    terminal.input_transformers_cleanup.append(lambda lines: transform(shell, lines))
    plain = terminal.display_formatter.formatters["text/plain"]
    for kind in shown_types():
        plain.for_type(kind, lambda value, p, cycle: p.text(_text(value, shell)))
    terminal.Completer.custom_matchers.append(matcher_of(shell))

    def complain(ipython: Any, kind: type, error: GpudbgError, trace: Any, **more: Any) -> None:
        shell.complain(error)

    terminal.set_custom_exc((GpudbgError,), complain)
    terminal.events.register("pre_run_cell", lambda *cell: shell.mark_output())
    terminal.events.register("post_run_cell", lambda *cell: shell.print_output())


def matcher_of(shell: Shell) -> Any:
    """The prompt's completion for IPython, whose own is asked only where this one knows nothing."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    finder = Completer(shell)

    def matcher(context: Any) -> dict[str, Any]:
        line = context.text_until_cursor
        count, found = (0, []) if line.lstrip().startswith(("%", "?")) else finder.matches(line)
        return {
            "completions": [SimpleCompletion(text=word) for word in found],
            "matched_fragment": line[len(line) - count :],
            "suppress": bool(found),
        }

    made: Any = context_matcher
    return made(identifier="gpudbg", priority=200)(matcher)


def _text(value: object, shell: Shell) -> str:
    lines = lines_of(value, shell.dbg)
    return repr(value) if lines is None else "\n".join(lines)


def transform(shell: Shell, lines: list[str]) -> list[str]:
    """One line that is a command becomes a call that carries it out."""
    if len(lines) != 1:
        return lines
    names = {k: v for k, v in shell.names.items() if not k.startswith("__")}
    line = as_command(lines[0].rstrip("\n"), shell.table, names)
    return lines if line is None else [f"{RUN}({line!r})\n"]


def _run(terminal: Any, shell: Shell, line: str) -> None:
    shell.command(line)
    # IPython leaves `_` alone for good once somebody else has set it, unless it is asked to.
    terminal.displayhook._ = shell.names.get("_")
    if shell.quit_requested:
        terminal.ask_exit()
