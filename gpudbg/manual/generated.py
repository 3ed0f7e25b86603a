"""The pages that are made from tables of the program, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from gpudbg.dataclass import dataclass
from gpudbg.manual.reference.python_api import GROUPS, OTHERS, slug


@dataclass(frozen=True, slots=True)
class GeneratedPage:
    """A page of the reference.

    Attributes:
        name: of its file and of the topic in the terminal.
        title: its heading.
        about: one line on what it says.
        maker: `module:function` that gives its Markdown, without the heading.
        argument: what the function is given, where it makes several pages.
    """

    name: str
    title: str
    about: str
    maker: str

    argument: str = ""

    def text(self) -> str:
        """The page as Markdown."""
        return f"# {self.title}\n\n{_made(self.maker, self.argument)}"


@cache
def _made(maker: str, argument: str) -> str:
    module, _, function = maker.partition(":")
    make: Callable[..., str] = getattr(import_module(f"gpudbg.manual.reference.{module}"), function)
    return make(argument) if argument else make()


GENERATED: dict[str, GeneratedPage] = {
    page.name: page
    for page in (
        GeneratedPage(
            "command-line", "Command line", "verbs, flags, operands, environment variables",
            "command_line:command_line",
        ),
        GeneratedPage(
            "commands", "Console commands", "every command of the debugger's prompts",
            "console_commands:commands",
        ),
        GeneratedPage(
            "settings", "Settings", "what `set` and `show` know", "console_commands:settings",
        ),
        GeneratedPage(
            "keys", "Keys of the terminal UI", "every key of every screen, in four key maps",
            "console_commands:keys",
        ),
        GeneratedPage(
            "python", "Python API", "public names, from their docstrings",
            "python_api:overview",
        ),
        *(
            GeneratedPage(
                slug(title), f"Python: {title[:1].lower()}{title[1:]}",
                f"Python API, {title.lower()}",
                "python_api:group", title,
            )
            for title, _ in (*GROUPS, (OTHERS, ""))
        ),
        GeneratedPage(
            "launch-table", "Launch table", "how a kernel is launched: keys of PROG.toml",
            "data_formats:launch_table",
        ),
        GeneratedPage(
            "json", "JSON answers", "the data of every `--json` answer",
            "data_formats:json_answers",
        ),
        GeneratedPage(
            "recording", "Recording files", "what is inside of a .gpurec file",
            "recording_file:recording_file",
        ),
        GeneratedPage(
            "exit-codes", "Exit codes", "what the command line ends with",
            "command_line:exit_codes",
        ),
        GeneratedPage(
            "gallery", "Gallery of stories", "the shipped programs, each with a picture",
            "stories:gallery",
        ),
        GeneratedPage("mi", "GDB/MI", "MI commands that editors may send", "protocols:mi"),
        GeneratedPage("dap", "Debug Adapter Protocol", "what editors may ask", "protocols:dap"),
        GeneratedPage(
            "instructions", "Instruction coverage", "what is decoded and executed, by architecture",
            "machine:instructions",
        ),
        GeneratedPage(
            "special-registers", "Special registers", "SR_TID.X, %laneid and the others, by bits",
            "machine:special_registers",
        ),
        GeneratedPage(
            "error-codes", "Error codes", "warp errors, global errors, Xid numbers",
            "machine:error_codes",
        ),
        GeneratedPage(
            "policies", "Policies", "what the model assumes, how sure it is, and why",
            "machine:policies",
        ),
    )
}  # fmt: skip
"""Pages by name, in the order of the reference."""
