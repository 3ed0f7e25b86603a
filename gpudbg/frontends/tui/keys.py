"""Derive bindings, key names and key rows from the action registry."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from textual.binding import Binding, BindingType

from gpudbg.frontends.tui.actions import (
    ACTIONS,
    BY_ID,
    BY_NAME,
    KEY_ROWS,
    LOCAL_ACTIONS,
    PAIRS,
    Action,
)

Keys = Mapping[str, str]
"""A key map: ids of the main screen's actions -> keys."""

_NAMES = {
    "space": "Space",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "full_stop": ".",
    "comma": ",",
    "question_mark": "?",
    "exclamation_mark": "!",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "colon": ":",
    "slash": "/",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "tab": "Tab",
    "escape": "Esc",
    "delete": "Del",
    "backspace": "Bksp",
    "enter": "Enter",
    "end": "End",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "left": "Left",
    "right": "Right",
    "up": "Up",
    "down": "Down",
}
_ARROWS = {"Left": "\u2190", "Right": "\u2192"}


# ---- bindings --------------------------------------------------------------------------------
def bindings(scope: str) -> list[BindingType]:
    """The bindings of a screen or of a kind of pane."""
    found: list[BindingType] = []
    if scope == "main":
        found += [_binding(a, f"do('{a.id}')", a.keys, a.id) for a in ACTIONS]
    if scope == "side":
        found += [_binding(a, f"main('{a.id}')", a.keys, a.id) for a in ACTIONS if a.on_sides]
    for action in local(scope):
        if "{key}" in action.do:
            keys = action.keys.split(",")
            found += [_binding(action, action.do.format(key=key), key) for key in keys]
        elif action.do:
            found.append(_binding(action, action.do, action.keys))
    return found


def _binding(action: Action, do: str, keys: str, id_: str | None = None) -> Binding:
    return Binding(keys, do, action.label, show=False, id=id_, priority=action.priority)


def local(scope: str) -> Iterator[Action]:
    """A scope's actions, without those handled in `handlers/`."""
    return (a for a in LOCAL_ACTIONS if a.scope == scope)


# ---- words -----------------------------------------------------------------------------------
def key_name(key: str) -> str:
    """A key as it is written for people: `^P`, `S-F11`, `?`."""
    if key in _NAMES:
        return _NAMES[key]
    if key.startswith("ctrl+"):
        rest = key[5:]
        return f"^{rest.upper()}" if len(rest) == 1 else f"C-{key_name(rest)}"
    if key.startswith("shift+"):
        return f"S-{key_name(key[6:])}"
    return key.upper() if len(key) > 1 else key


def keys_text(keys: str, limit: int = 3) -> str:
    """Several keys for people, blank separated; digits in a row as `1-4`."""
    each = keys.split(",")
    if len(each) > limit and all(key.isdecimal() for key in each):
        return f"{each[0]}-{each[-1]}"
    return " ".join(key_name(k) for k in each[:limit])


def keys_of(action: Action, table: Keys) -> str:
    """An action's keys in a key map, comma separated."""
    return table.get(action.id, action.keys) if action.scope == "main" else action.keys


def partner(action: Action) -> Action | None:
    """The action of the opposite direction; None unless `action` is the forward one of a pair."""
    for forward, back in PAIRS:
        if action.name.endswith(forward):
            return BY_NAME.get(action.name.removesuffix(forward) + back)
    return None


def is_back(action: Action) -> bool:
    """Whether an action is the backward one of a pair."""
    return any(
        action.name.removesuffix(back) + forward in BY_NAME
        for forward, back in PAIRS
        if action.name.endswith(back)
    )


def help_keys(action: Action, table: Keys) -> str:
    """An action's keys as the help page shows them, with those of its opposite direction."""
    other = partner(action)
    if other is None:
        return keys_text(keys_of(action, table))
    both = (keys_of(action, table), keys_of(other, table))
    return " ".join(keys_text(keys, 1) for keys in both)


# ---- key rows --------------------------------------------------------------------------------
def key_row(
    scope: str, table: Keys, there: Container[str] = (), arrows: bool = False, short: bool = False
) -> list[tuple[str, str, Action]]:
    """A scope's key row: key, word, action.

    Args:
        scope: of a screen other than the main one.
        table: the key map.
        there: what actions may need that is there.
        arrows: whether arrow keys are written as arrows.
        short: whether there is little room.
    """
    found = []
    for entry in KEY_ROWS[scope].split():
        name, _, word = entry.partition("=")
        forward, key = _keys_of_entry(scope, name, table)
        if forward.needs and scope == forward.scope and forward.needs not in there:
            continue
        for ascii_name, arrow in _ARROWS.items() if arrows else ():
            key = key.replace(ascii_name, arrow)
        found.append((key, word or (short and forward.short) or forward.label, forward))
    return found


def _keys_of_entry(scope: str, name: str, table: Keys) -> tuple[Action, str]:
    """The action that an entry of a key row names, and its key or those of both directions."""
    if not name.endswith("_*"):
        action = _found(scope, name)
        return action, keys_text(keys_of(action, table), 1)
    for endings in PAIRS:
        names = [name.removesuffix("_*") + ending for ending in endings]
        if any(c in BY_NAME for n in names for c in _candidates(scope, n)):
            both = [_found(scope, n) for n in names]
            # The backward key comes first where it lies further left on the keyboard.
            order = both[::-1] if _stands_left(both[1]) else both
            return both[0], " ".join(keys_text(keys_of(a, table), 1) for a in order)
    raise KeyError(name)


def _stands_left(back: Action) -> bool:
    return back.keys.endswith(("left", "left_square_bracket", "less_than_sign"))


def _found(scope: str, name: str) -> Action:
    return next(BY_NAME[c] for c in _candidates(scope, name) if c in BY_NAME)


def _candidates(scope: str, name: str) -> Sequence[str]:
    return f"{scope}.{name}", name, f"side.{name}", f"rows.{name}"


def one_line(scope: str, table: Keys, gap: str = "   ") -> str:
    """A scope's key row as bare text."""
    return gap.join(f"{key} {word}".rstrip() for key, word, _ in key_row(scope, table))


INTERRUPT = BY_ID["interrupt"].keys
"""The key that stops what runs."""
