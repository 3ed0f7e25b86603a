"""Variable objects."""

from __future__ import annotations

from typing import Any

from gpudbg.errors import CommandError
from gpudbg.frontends.mi.commands.data import readable
from gpudbg.frontends.mi.commands.registry import MiCall, mi
from gpudbg.frontends.mi.commands.stack import print_values
from gpudbg.frontends.mi.parser import MiError, take_options
from gpudbg.frontends.mi.records import Pairs
from gpudbg.frontends.mi.varobj import VarObject, enter_frame, format_letter, show

Fields = dict[str, Any]


def _bound(call: MiCall, row: VarObject) -> int | None:
    """The thread a row is to be looked at in; MiError-free for one that has gone."""
    if row.thread is None or row.thread not in call.bridge.ids.known():
        return None
    return row.thread


def _shown(row: VarObject, value: bool = True) -> Fields:
    out: Fields = {"numchild": row.count}
    if value:
        out["value"] = row.value
    out["type"] = row.type
    if row.thread is not None:
        out["thread-id"] = row.thread
    return out


@mi("var-create")
def var_create(call: MiCall) -> Fields:
    """A new object; bound to the selected thread unless it floats (`@`)."""
    if len(call.words) < 3:
        raise MiError("-var-create: Usage: NAME FRAME EXPRESSION.")
    name, frame, *words = call.words
    text = " ".join(words)
    bridge = call.bridge
    session = readable(call, text)
    if frame not in ("*", "@") and not frame.lower().startswith("0x"):
        raise MiError("-var-create: Frame specification must be *, @ or an address")
    thread = bridge.ids.focused(session) if frame != "@" and bridge.started else None
    try:
        row = bridge.variables.create(session, name, text, thread, None)
    except CommandError as e:
        call.ui.stream("&", f"{e}\n")
        raise MiError("-var-create: unable to create variable object") from None
    return {"name": row.name, **_shown(row), "has_more": 0}


@mi("var-list-children")
def var_list_children(call: MiCall) -> Fields:
    """Children, all or a range."""
    mode, words = 0, call.words
    if words and (words[0].startswith("--") or (words[0] in "012" and len(words) > 1)):
        mode, words = print_values(call, words)
    if len(words) not in (1, 3):
        raise MiError("-var-list-children: Usage: [PRINT_VALUES] NAME [FROM TO]")
    row = call.bridge.variables.get(words[0])
    first, last = 0, min(row.count, 4096)
    if len(words) == 3:
        if not all(w.lstrip("-").isdecimal() for w in words[1:]):
            raise MiError("-var-list-children: FROM and TO are numbers")
        first, last = (int(w) for w in words[1:])
        if first < 0 or last < 0:
            first, last = 0, row.count
    session = readable(call, row.path)
    with call.bridge.selecting(_bound(call, row), None):
        names = call.bridge.variables.expand(session, row, first, last)
    out: Fields = {"numchild": len(names)}
    if names:
        rows = [call.bridge.variables.get(n) for n in names]
        out["children"] = Pairs.of(
            "child", [{"name": r.name, "exp": r.exp, **_child(r, mode)} for r in rows]
        )
    out["has_more"] = int(last < row.count)
    return out


def _child(row: VarObject, mode: int) -> Fields:
    simple = row.count == 0
    return _shown(row, mode == 1 or (mode == 2 and simple))


@mi("var-update")
def var_update(call: MiCall) -> Fields:
    """What changed."""
    mode, words = 0, call.words
    if len(words) > 1:
        mode, words = print_values(call, words)
    if len(words) != 1:
        raise MiError("-var-update: Usage: [PRINT_VALUES] NAME.")
    table = call.bridge.variables
    if words[0] in ("*", "@"):
        rows = list(table.rows.values())
    else:
        rows = table.family(table.get(words[0]))
    changes = []
    for row in rows:
        if row.frozen or (words[0] == "@" and row.thread is not None):
            continue
        change = _change(call, row, mode)
        if change is not None:
            changes.append(change)
    return {"changelist": changes}


def _change(call: MiCall, row: VarObject, mode: int) -> Fields | None:
    bridge = call.bridge
    gone = row.thread is not None and row.thread not in bridge.ids.known()
    if gone or bridge.session is None:
        if not row.in_scope:
            return None
        row.in_scope = False
        scope = {"in_scope": "false", "type_changed": "false", "has_more": 0}
        return {"name": row.name, **scope}
    old_type, old_count = row.type, row.count
    session = readable(call, row.path)
    with bridge.selecting(row.thread, None):
        if not bridge.variables.update(session, row):
            return None
    out: Fields = {"name": row.name}
    if mode == 1 or (mode == 2 and row.count == 0):
        out["value"] = row.value
    out["in_scope"] = "true" if row.in_scope else "false"
    changed = row.type != old_type
    out["type_changed"] = "true" if changed else "false"
    if changed:
        out |= {"new_type": row.type, "new_num_children": row.count}
    elif row.count != old_count:
        out["new_num_children"] = row.count
    out["has_more"] = 0
    return out


def _row(call: MiCall, count: int = 1) -> VarObject:
    if len(call.words) < count:
        raise MiError(f"-{call.name}: Usage: NAME" + " VALUE" * (count - 1))
    return call.bridge.variables.get(call.words[0])


@mi("var-evaluate-expression")
def var_evaluate(call: MiCall) -> Fields:
    """An object's value, perhaps in another format."""
    opts = take_options(call.name, call.words, values="-f")
    if len(opts.rest) != 1:
        raise MiError("-var-evaluate-expression: Usage: [-f FORMAT] NAME")
    row = call.bridge.variables.get(opts.rest[0])
    asked = opts.get("-f")
    if asked is None:
        return {"value": row.value}
    session = readable(call, row.path)
    with call.bridge.selecting(_bound(call, row), None):
        enter_frame(session, row.frame)
        return {"value": show(session, row.path, format_letter(asked)).value}


@mi("var-assign")
def var_assign(call: MiCall) -> Fields:
    """Set what an object stands for."""
    row = _row(call, 2)
    session = readable(call, row.path)
    value = " ".join(call.words[1:])
    with call.bridge.selecting(_bound(call, row), None):
        if not enter_frame(session, row.frame):
            raise MiError("-var-assign: the frame of the variable object has been left")
        session.evaluate(f"{row.path} = {value}")
        call.bridge.variables.update(session, row)
    return {"value": row.value}


@mi("var-set-format")
def var_set_format(call: MiCall) -> Fields:
    """Change the print format."""
    row = _row(call, 2)
    row.letter = format_letter(call.words[1])
    row.format = next(f for f in FORMAT_NAMES if f.startswith(call.words[1]))
    if call.bridge.session is not None and call.bridge.started:
        with call.bridge.selecting(_bound(call, row), None):
            call.bridge.variables.update(call.bridge.session, row)
    return {"format": row.format, "value": row.value}


FORMAT_NAMES = ("natural", "binary", "decimal", "hexadecimal", "octal", "zero-hexadecimal")


@mi("var-show-format")
def var_show_format(call: MiCall) -> Fields:
    """The print format."""
    return {"format": _row(call).format}


@mi("var-show-attributes")
def var_attributes(call: MiCall) -> Fields:
    """Whether it can be assigned."""
    row = _row(call)
    plain = row.count == 0 and not row.vector and "." not in row.path
    return {"attr": "editable" if plain else "noneditable"}


@mi("var-info-path-expression")
def var_path(call: MiCall) -> Fields:
    """The whole expression."""
    return {"path_expr": _row(call).path}


@mi("var-info-expression")
def var_expression(call: MiCall) -> Fields:
    """What to show."""
    return {"lang": "C++", "exp": _row(call).exp}


@mi("var-info-type")
def var_type(call: MiCall) -> Fields:
    """The type."""
    return {"type": _row(call).type}


@mi("var-info-num-children")
def var_children(call: MiCall) -> Fields:
    """How many children."""
    return {"numchild": _row(call).count}


@mi("var-set-frozen")
def var_frozen(call: MiCall) -> None:
    """Keep an object as it is."""
    row = _row(call, 2)
    if call.words[1] not in ("0", "1"):
        raise MiError("Invalid flag value")
    row.frozen = call.words[1] == "1"


@mi("var-set-update-range", "var-set-visualizer")
def var_nothing(call: MiCall) -> None:
    """Accepted: all children are kept, and there are no visualizers."""
    _row(call)


@mi("var-delete", running="ok")
def var_delete(call: MiCall) -> Fields:
    """Forget an object."""
    opts = take_options(call.name, call.words, flags="-c")
    if len(opts.rest) != 1:
        raise MiError("-var-delete: Usage: [-c] EXPRESSION.")
    row = call.bridge.variables.get(opts.rest[0])
    return {"ndeleted": call.bridge.variables.delete(row, opts.has("-c"))}
