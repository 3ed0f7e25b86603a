"""Reference: the console's commands, settings, and keys of the terminal UI."""

from __future__ import annotations

from collections.abc import Iterable

from gpudbg.debug.commands.absent import ABSENT
from gpudbg.debug.commands.families import load
from gpudbg.debug.commands.settings import GROUPS
from gpudbg.debug.registry import Command
from gpudbg.debug.session import DebugSession
from gpudbg.debug.settings import ROWS, SettingRow
from gpudbg.frontends.tui import keymaps
from gpudbg.frontends.tui.actions import ACTIONS, LOCAL_ACTIONS, TITLES, Action
from gpudbg.frontends.tui.keys import keys_text
from gpudbg.manual.markdown import anchor, code, fence, label, plain, section, table

NEEDS = {
    "nothing": "nothing: it works without a program",
    "launch": "a program",
    "stopped": "a stopped warp",
    "stopped or ended": "a launch that stopped or ended",
}


def commands() -> str:
    """The page on the console's commands."""
    found: dict[str, list[Command[DebugSession]]] = {}
    for row in load().commands:
        found.setdefault(row.group, []).append(row)
    parts = [
        "gdb's names and abbreviations, and cuda-gdb's GPU commands beside them. Any beginning "
        "of a name that means one command is enough (`cont`, `inf wa`), an empty line repeats a "
        "step. The same table answers at every prompt, in `-x` files, in `session.execute(…)` "
        "and under GDB/MI. `help COMMAND` says in the debugger what stands here.\n",
        table(
            ("group", "what for", "commands"),
            (
                [f"[{group}](#{_group(group)})", plain(GROUPS.get(group, "")), _links(rows)]
                for group, rows in found.items()
            ),
        ),
    ]
    for group, rows in found.items():
        parts += [
            f"({_group(group)})=\n",
            section(2, group.capitalize(), plain(GROUPS.get(group, "")).capitalize() + ".\n"),
            *map(_command, rows),
        ]
    absent: dict[tuple[str, str], list[str]] = {}
    for name, said in ABSENT.items():
        absent.setdefault(said, []).append(name)
    parts += [
        section(2, "gdb's commands that are not here"),
        table(
            ("commands", "why", "instead"),
            (
                [" ".join(map(code, names)), plain(why), plain(instead)]
                for (why, instead), names in absent.items()
            ),
        ),
    ]
    return "\n".join(parts)


def _group(group: str) -> str:
    return f"commands-{group}"


def _links(rows: Iterable[Command[DebugSession]]) -> str:
    return ", ".join(f"[`{row.name}`](#{anchor('command', row.name)})" for row in rows)


def _command(row: Command[DebugSession]) -> str:
    more = [f"Needs {NEEDS[row.needs]}."]
    if len(row.names) > 1:
        more.insert(0, "Also: " + ", ".join(map(code, row.names[1:])) + ".")
    if row.repeats:
        more.append("An empty line repeats it.")
    details = row.details.rstrip("\n").splitlines()
    return "\n".join(
        (
            label("command", row.name),
            section(3, code(row.name), f"    {row.usage}\n", _sentence(row.help) + "\n"),
            fence(line.rstrip() for line in details) if details else "",
            " ".join(more) + "\n",
        )
    )


def _sentence(text: str) -> str:
    words = plain(text)
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def settings() -> str:
    """The page on settings."""
    own = [r for r in ROWS if not r.inert and r.help not in ("of gdb", "of cuda-gdb")]
    others = [r for r in ROWS if r not in own]
    return "\n".join(
        (
            "`set NAME VALUE` changes a setting, `show NAME` shows it, `show` all of them, and "
            "`with NAME VALUE -- COMMAND` changes it for one command.\n",
            table(
                ("setting", "values", "default", "what"),
                ([_setting(r), _choices(r), _default(r), plain(r.help)] for r in own),
            ),
            section(2, "Settings of gdb and cuda-gdb"),
            "Kept and shown for the sake of editors and scripts that send them. Those without an "
            "effect here keep their default: another value is refused, or accepted with a note "
            "where front ends send it as they start.\n",
            table(
                ("setting", "of", "default", "has an effect"),
                (
                    [
                        _setting(r),
                        "cuda-gdb" if r.name.startswith("cuda ") else "gdb",
                        _default(r),
                        "" if r.inert else "under GDB/MI",
                    ]
                    for r in others
                ),
            ),
        )
    )


def _setting(row: SettingRow) -> str:
    return code(row.name)


def _choices(row: SettingRow) -> str:
    if row.choices:
        return " ".join(map(code, row.choices))
    return "a text" if row.text else "a number"


def _default(row: SettingRow) -> str:
    return code(row.default) if row.default else ""


def keys() -> str:
    """The page on keys of the terminal UI."""
    names = keymaps.NAMES
    maps = {name: keymaps.keymap(name) for name in names}
    parts = [
        "`?` in the terminal UI shows the keys of the screen that is open. Four key maps are "
        f"there: `GPUDBG_KEYMAP` or `set keymap` chooses one of {', '.join(map(code, names))}. "
        "The mouse does the same: panes, rows, tabs and the words of the key row are clicked.\n",
    ]
    shown = [a for a in ACTIONS if a.help]
    groups = list(dict.fromkeys(a.group for a in shown))
    for group in groups:
        rows = [
            [_keys(maps[name].get(a.id, a.keys)) for name in names]
            + [plain(a.help), code(a.command) if a.command else ""]
            for a in shown
            if a.group == group
        ]
        parts += [section(2, group), table((*names, "what", "command"), rows)]
    scopes: dict[str, list[Action]] = {}
    for action in LOCAL_ACTIONS:
        if action.keys and (action.help or action.label):
            scopes.setdefault(action.scope, []).append(action)
    for scope, actions in scopes.items():
        rows = [[_keys(a.keys), plain(a.help or a.label)] for a in actions]
        title = TITLES.get(scope, f"Screen or pane: {scope}")
        parts += [section(2, title), table(("keys", "what"), rows)]
    return "\n".join(parts)


def _keys(keys: str) -> str:
    return " ".join(code(word) for word in keys_text(keys, 9).split())
