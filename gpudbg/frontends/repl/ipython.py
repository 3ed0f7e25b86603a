"""The same prompt in IPython, where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

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
    from IPython.terminal.embed import InteractiveShellEmbed
    from traitlets.config import Config

    config = Config()
    config.TerminalInteractiveShell.confirm_exit = False
    config.TerminalInteractiveShell.separate_in = ""
    history = places.history
    if history is not None:
        config.HistoryManager.hist_file = str(history.with_name("ipython_history.sqlite"))
    embedded = InteractiveShellEmbed(config=config, banner1="")
    attach(embedded, shell)
    embedded(local_ns=shell.names, stack_depth=0)


def attach(embedded: Any, shell: Shell) -> None:
    """Teach an IPython shell commands, views and completion."""
    shell.names[RUN] = lambda line: _run(embedded, shell, line)
    embedded.input_transformers_cleanup.append(lambda lines: transform(shell, lines))
    plain = embedded.display_formatter.formatters["text/plain"]
    for kind in shown_types():
        plain.for_type(kind, lambda value, p, cycle: p.text(_text(value, shell)))
    finder = Completer(shell)

    def matcher(text: str) -> list[str]:
        line = embedded.Completer.text_until_cursor
        count, found = finder.matches(line)
        head = text[: len(text) - count] if count <= len(text) else ""
        return [head + word for word in found]

    embedded.set_custom_completer(lambda completer, text: matcher(text))


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


def _run(embedded: Any, shell: Shell, line: str) -> None:
    shell.command(line)
    if shell.quit_requested:
        embedded.ask_exit()
