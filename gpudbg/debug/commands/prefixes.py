"""Commands that carry other commands out: alias, with, frame apply, faas, taas, tfaas, complete."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpudbg.answers import NOTHING, Answer, Listing, Notice, Sections
from gpudbg.debug.commands import launch
from gpudbg.debug.commands.frames import frame_row
from gpudbg.debug.commands.table import TABLE, command
from gpudbg.debug.completion import complete
from gpudbg.debug.values.backtrace import frames
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError, GpudbgError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

ALIAS_USAGE = "alias [-a] [--] NAME = COMMAND"


@command(
    "alias",
    usage=ALIAS_USAGE,
    help="another name for a command, or for its beginning",
    group="scripts",
    needs="nothing",
    details="alias pg = print -- global    alias set pe = set print elements",
)
def alias(session: DebugSession, argument: str) -> Notice:
    """Define an alias."""
    name, equals, meaning = argument.partition("=")
    words, meaning = name.split(), meaning.strip()
    while words and words[0] in ("-a", "--"):
        words.pop(0)
    if not equals or not words or not meaning:
        raise CommandError("Missing argument.", ALIAS_USAGE)
    scope = session.scripting.scope
    meaning = scope.expanded(meaning)
    if scope.find(meaning) is None:
        TABLE.resolve(meaning)
    made = " ".join(words)
    if made in scope.aliases or TABLE.has(made) or made in scope.commands:
        raise CommandError(f"Alias already exists: {made[:80]}")
    if not all(re.fullmatch(r"[A-Za-z_][\w.-]*", word) for word in words):
        raise CommandError(f"Invalid alias name: {made[:80]}")
    if len(words) > 1 and words[:-1] != meaning.split()[: len(words) - 1]:
        raise CommandError(
            f"{made[:80]}: its first words are not those of the command",
            "alias set pe = set print …",
        )
    scope.aliases[made] = meaning
    return NOTHING


# ---- with ----------------------------------------------------------------------------------------
@command(
    "with",
    "w",
    usage="with SETTING [VALUE] -- COMMAND",
    help="carry a command out with another value of a setting",
    group="scripts",
    needs="nothing",
    details="with print elements 4 -- print table",
)
def with_(session: DebugSession, argument: str) -> Answer:
    """Change a setting, carry out, change it back."""
    if not argument.strip():
        raise CommandError("Missing arguments.", "with SETTING [VALUE] -- COMMAND")
    setting, dashes, line = f"{argument} ".partition("-- ")
    found = session.settings.split(setting)
    if found is None:
        session.settings.row(setting.split()[0] if setting.split() else "")
        raise CommandError(f"{setting.strip()!r} is not a setting", "`show` lists the settings")
    name, value = found
    if not dashes or not line.strip():
        raise CommandError("a command is missing", "with SETTING [VALUE] -- COMMAND")
    if name in launch.SETTINGS or session.settings.row(name).screen:
        raise CommandError(
            f"with {name}: not a setting for one command", f"`set {name}` changes it"
        )
    before = session.settings.shown(name)
    session.settings.set(name, value.strip())
    try:
        return session.command(line.strip()).answer
    finally:
        session.settings.set(name, before)


# ---- frames --------------------------------------------------------------------------------------
APPLY_USAGE = "frame apply all|COUNT|-COUNT|level N[-M] … [-q] [-s] [-c] COMMAND"


@command(
    "frame apply",
    usage=APPLY_USAGE,
    help="a command in each call frame, from the innermost one outward",
    group="status",
    needs="stopped",
    details="-q: no titles; -s: frames where the command fails are left out; -c: their errors are "
    "shown, and the next ones follow.",
)
def frame_apply(session: DebugSession, argument: str) -> Sections:
    """Carry a command out with one frame selected after the other."""
    words = argument.split()
    count = len(frames(session))
    chosen = _levels(words, count)
    flags = {words.pop(0) for _ in range(4) if words and words[0] in ("-q", "-s", "-c")}
    line = " ".join(words)
    if not line:
        raise CommandError("Please specify a command to apply on all frames", APPLY_USAGE)
    level, before = session.frame_level, session.stop
    parts: list[Answer] = []
    data: list[Any] = []
    try:
        for number in chosen:
            session.frame_level = number
            title = frame_row(session, frames(session)[number])
            try:
                answer = session.command(line)
            except GpudbgError as error:
                if "-s" in flags:
                    continue
                if "-c" not in flags:
                    raise
                parts.append(Listing((title, str(error)), str))
                continue
            if session.stop is not before:
                return Sections((*parts, answer.answer), data)
            if "-q" not in flags and (answer.lines or "-s" not in flags):
                parts.append(Notice(title))
            parts.append(answer.answer)
            data.append({"level": number, "data": answer.data})
    finally:
        if session.stop is before:
            session.frame_level = level
    return Sections(tuple(parts), data)


def _levels(words: list[str], count: int) -> list[int]:
    """Levels that `frame apply` names; these words are taken away.

    Raises:
        CommandError: it names none.
    """
    missing = CommandError("Missing COUNT argument.", APPLY_USAGE)
    if not words:
        raise missing
    first = words.pop(0)
    if first == "all":
        return list(range(count))
    if first == "level":
        chosen: list[int] = []
        while words and re.fullmatch(r"\d{1,7}(-\d{1,7})?", words[0]):
            low, _, high = words.pop(0).partition("-")
            chosen += range(int(low), min(int(high or low), count) + 1)
        if not chosen:
            raise CommandError("Missing or invalid LEVEL... argument", APPLY_USAGE)
        outside = next((n for n in chosen if n >= count), None)
        if outside is not None:
            raise CommandError(f"No frame at level {outside}.", f"there are {count}")
        return chosen
    if not re.fullmatch(r"-?\d{1,7}", first):
        raise missing
    number = parse_int(first, "count")
    return list(range(count))[:number] if number > 0 else list(range(count))[number:]


def _prefix(name: str, meaning: str, help_: str) -> None:
    @command(
        name, usage=f"{name} COMMAND", help=help_, group="status", needs="stopped",
        details=f"the same as `{meaning} COMMAND`",
    )  # fmt: skip
    def handler(session: DebugSession, argument: str) -> Answer:
        if not argument.strip():
            raise CommandError(f"{name}: a command is missing", f"{name} COMMAND")
        return session.command(f"{meaning} {argument}").answer


_prefix("faas", "frame apply all -s", "a command in each call frame, errors left out")
_prefix("taas", "thread apply all -s", "a command for each warp, errors left out")
_prefix("tfaas", "thread apply all -s frame apply all -s", "in each frame of each warp")


# ---- small ones ----------------------------------------------------------------------------------
@command(
    "complete",
    usage="complete TEXT",
    help="how a line that begins so could go on",
    group="support",
    needs="nothing",
)
def complete_(session: DebugSession, argument: str) -> Listing:
    """List completions."""
    most = session.settings.number("max-completions")
    found = sorted(set(complete(session, argument))) if argument else TABLE.words()
    cut = len(found) > most > 0
    note = f"{argument} *** List may be truncated, max-completions reached. ***"
    return Listing(tuple(found[: most or None]), str, foot=(note.strip(),) if cut else ())


@command(
    "init-if-undefined",
    usage="init-if-undefined $NAME = EXPRESSION",
    help="give a convenience variable a value if it has none",
    group="scripts",
    needs="nothing",
)
def init_if_undefined(session: DebugSession, argument: str) -> Answer:
    """Assign, once."""
    made = re.match(r"\s*(\$\w+)\s*=(?!=)", argument)
    if made is None:
        raise CommandError("Init-if-undefined requires an assignment expression.")
    if made[1] not in session.variables:
        session.evaluate(argument)
    return NOTHING


@command(
    "dont-repeat",
    help="an empty line does not repeat the command that has this in it",
    group="scripts",
    needs="nothing",
)
def dont_repeat(session: DebugSession, argument: str) -> Answer:
    """Accept `dont-repeat` without effect: user commands are never repeated here."""
    return NOTHING


def _quiet(name: str, meaning: str) -> None:
    @command(
        name, usage=f"{name} [N]", help=f"as `{meaning}`, without a word", group="status",
        needs="stopped",
    )  # fmt: skip
    def handler(session: DebugSession, argument: str) -> Answer:
        session.command(f"{meaning} {argument}".strip())
        return NOTHING


for _name, _meaning in (
    ("up-silently", "up"),
    ("down-silently", "down"),
    ("select-frame", "frame"),
):
    _quiet(_name, _meaning)


@command("pwd", help="the working directory", group="support", needs="nothing")
def pwd(session: DebugSession, argument: str) -> Notice:
    """Show where relative names begin."""
    import os

    here = os.getcwd()
    return Notice(f"Working directory {here}.", here)


@command(
    "cd",
    usage="cd [DIR]",
    help="another working directory, for the names of files that commands read and write",
    group="support",
    needs="nothing",
)
def cd(session: DebugSession, argument: str) -> Notice:
    """Change the working directory."""
    import os

    try:
        os.chdir(os.path.expanduser(argument.strip() or "~"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"{argument.strip()[:200]}: {reason}.") from None
    return pwd(session, "")
