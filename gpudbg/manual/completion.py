"""gpudbg completion SHELL: completions for bash, zsh and fish, from the table of options.

eval "$(gpudbg completion bash)"           in ~/.bashrc
eval "$(gpudbg completion zsh)"            in ~/.zshrc, behind compinit
gpudbg completion fish | source            in ~/.config/fish/config.fish
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gpudbg.arguments import Parser
from gpudbg.debug import stories
from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.listing import VERBS
from gpudbg.manual.pages import pages
from gpudbg.manual.reference.command_line import all_rows
from gpudbg.options import OptionKind, OptionSpec, add_verb_options

FILES = {"help", "demo", "completion", "plugins", "cache", "doctor", "dap"}
"""Verbs whose operands are no files."""


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg completion",
        description="Print what a shell reads to complete gpudbg's command lines.",
    )
    add_verb_options(p, "completion")
    print(SHELLS[p.parse_args(argv).shell](), end="")
    return EXIT_CLEAN


def operands(verb: str) -> list[str]:
    """Words that an operand of a verb can be."""
    named = {"demo": list(stories()), "help": list(pages())}
    if verb in named:
        return named[verb]
    choices = [c for row in all_rows(verb) if not row.flags for c in row.choices]
    return choices + ["isa", "schema", "policy", "engine", "special"] * (verb == "info")


def takes_value(row: OptionSpec) -> bool:
    """Whether a word follows the flag."""
    return row.kind is not OptionKind.SWITCH


def flags(verb: str) -> list[OptionSpec]:
    """A verb's rows that have a flag."""
    return [row for row in all_rows(verb) if row.flags]


def bash() -> str:
    """For bash; without the package bash-completion."""
    cases, values = [], []
    for verb in VERBS:
        words = " ".join(flag for row in flags(verb) for flag in row.flags)
        cases.append(f"    {verb}) flags='{words} --help'; words='{' '.join(operands(verb))}' ;;")
        for row in flags(verb):
            if row.choices:
                names = "|".join(f"{verb}:{flag}" for flag in row.flags)
                values.append(f"    {names}) choices='{' '.join(row.choices)}' ;;")
    return f"""# bash completion of gpudbg: eval "$(gpudbg completion bash)"
_gpudbg() {{
  local now="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" verb=tui
  local flags= words= choices= word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in
      {"|".join(v for v in VERBS if v != "tui")}) verb="$word"; break ;;
      -*) ;;
      *) break ;;
    esac
  done
  case "$verb" in
{_lines(cases)}
  esac
  case "$verb:$before" in
{_lines(values)}
  esac
  compopt -o default 2>/dev/null
  if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$now")); return; fi
  if [ "$COMP_CWORD" = 1 ]; then words="{" ".join(v for v in VERBS if v != "tui")}"; fi
  case "$now" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$now")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$now")) ;;
  esac
}}
complete -F _gpudbg gpudbg
"""


def zsh() -> str:
    """For zsh."""
    described = " ".join(_quoted(f"{v}:{VERBS[v]}") for v in VERBS if v != "tui")
    cases = []
    for verb in VERBS:
        specs = [spec for row in flags(verb) for spec in _zsh_flag(row)]
        words = operands(verb)
        rest = f"(({' '.join(words)}))" if words else "_files"
        if words and verb not in FILES:
            rest = f"{{_files; compadd {' '.join(words)}}}"
        specs.append(_quoted(f"*:operand:{rest.replace('((', '(').replace('))', ')')}"))
        cases.append(f"    {verb}) _arguments {' '.join(specs)} ;;")
    return f"""#compdef gpudbg
# zsh completion of gpudbg: eval "$(gpudbg completion zsh)", behind compinit
_gpudbg() {{
  local verb=tui
  local -a verbs; verbs=({described})
  if (( CURRENT == 2 )) && [[ "$words[2]" != -* ]]; then
    _describe -t verbs verb verbs
    _files
    return
  fi
  if (( ${{verbs[(I)$words[2]:*]}} )); then verb="$words[2]"; shift words; (( CURRENT-- )); fi
  case "$verb" in
{_lines(cases)}
  esac
}}
compdef _gpudbg gpudbg
"""


def _zsh_flag(row: OptionSpec) -> Iterable[str]:
    for flag in row.flags:
        text = re.sub(r"[\[\]:]", " ", row.help).strip() or row.name
        value = ""
        if takes_value(row):
            words = f"({' '.join(row.choices)})" if row.choices else "_files"
            value = f":{(row.metavar or row.name).replace(':', ' ').lower()}:{words}"
        yield _quoted(f"*{flag}[{text}]{value}")


def fish() -> str:
    """For fish."""
    names = " ".join(v for v in VERBS if v != "tui")
    lines = ["# fish completion of gpudbg: gpudbg completion fish | source"]
    for verb, what in VERBS.items():
        none = f"not __fish_seen_subcommand_from {names}"
        if verb != "tui":
            lines.append(f"complete -c gpudbg -n '{none}' -a {verb} -d {_quoted(what)}")
        when = none if verb == "tui" else f"__fish_seen_subcommand_from {verb}"
        for row in flags(verb):
            given = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-o {flag[1:]}"
                for flag in row.flags
            )
            more = " -r" if takes_value(row) else ""
            more += f" -f -a {_quoted(' '.join(row.choices))}" if row.choices else ""
            lines.append(f"complete -c gpudbg -n '{when}' {given}{more} -d {_quoted(row.help)}")
        if operands(verb):
            only = " -f" if verb in FILES else ""
            words = _quoted(" ".join(operands(verb)))
            lines.append(f"complete -c gpudbg -n '{when}'{only} -a {words}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


SHELLS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Shell -> what makes its text."""
