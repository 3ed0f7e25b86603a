"""The built-in prompt: prompt_toolkit on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from gpudbg.errors import UsageError
from gpudbg.frontends.repl.complete import Completer as Finder
from gpudbg.textlines import MAX_SCRIPT_BYTES

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document

    from gpudbg.frontends.repl.places import Places
    from gpudbg.frontends.repl.shell import Shell

PROMPT, MORE = "gpudbg> ", "   ...> "


def interact(shell: Shell, places: Places) -> None:
    """Read and carry out inputs until `quit`, `exit()` or Ctrl-D."""
    session = _make(shell, places)
    while not shell.quit_requested:
        try:
            text = session.prompt(PROMPT)
            while shell.wants_more(text):
                line = session.prompt(MORE, default=indentation(text))
                text += "\n" + line
                if not line.strip():
                    break
            shell.push(text)
        except KeyboardInterrupt:
            continue  # Ctrl-C at the prompt, or just before it, drops what was typed
        except EOFError:
            return


def indentation(text: str) -> str:
    """What the next line of a block begins with: four more blanks after a colon."""
    last = text.rsplit("\n", 1)[-1]
    blanks = last[: len(last) - len(last.lstrip())]
    return blanks + "    " if last.rstrip().endswith(":") else blanks


def _make(shell: Shell, places: Places) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.python import PythonLexer

    finder = Finder(shell)

    class _Completer(Completer):
        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterable[Completion]:
            count, found = finder.matches(document.text_before_cursor)
            for text in found:
                yield Completion(text, start_position=-count)

    history = places.history
    return PromptSession(
        history=FileHistory(str(history)) if history is not None else InMemoryHistory(),
        completer=_Completer(),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(PythonLexer),
        enable_open_in_editor=True,
    )


def read_stream(shell: Shell, stream: TextIO | None = None) -> bool:
    """Carry out the lines of a stream, without a prompt; whether all went well."""
    well = True
    text = (stream or sys.stdin).read(MAX_SCRIPT_BYTES + 1)
    if len(text) > MAX_SCRIPT_BYTES:
        raise UsageError(f"standard input holds more than {MAX_SCRIPT_BYTES >> 20} MiB of commands")
    for _, chunk in shell.chunks(text.splitlines()):
        if chunk.strip() and not chunk.lstrip().startswith("#"):
            well = shell.push(chunk) and well
        if shell.quit_requested:
            break
    return well
