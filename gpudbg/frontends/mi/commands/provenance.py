"""Our own MI commands about the past: -gpudbg-who-wrote, -gpudbg-who-read, -gpudbg-why.

`-gpudbg-who-wrote EXPR` goes back like `-exec-*`; `-gpudbg-who-wrote -n N EXPR` and `--lanes` list:
`^done,touches=[{tick=…,kind=…,…},…]`, the latest first.  `-gpudbg-why [--depth N] [--control] EXPR`
gives `^done,cause={what=…,value=…,children=[{…},…]}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.answers import Card, data_of
from gpudbg.frontends.mi.commands import execution
from gpudbg.frontends.mi.commands.registry import Answer, Handler, MiCall, mi
from gpudbg.frontends.mi.opened import NOT_STARTED
from gpudbg.frontends.mi.parser import MiError

if TYPE_CHECKING:
    from gpudbg.debug.provenance import Derivation, PlaceTouch

Fields = dict[str, Any]
_WHY = "-gpudbg-why: Usage: [--depth COUNT] [--control] EXPRESSION"
_USAGE = "-{}: Usage: [-n COUNT] [--lanes] EXPRESSION"


def touch_fields(touch: PlaceTouch) -> Fields:
    """A record as a tuple; what it does not have is left out."""
    fields = {
        key: value
        for key, value in data_of(Card(touch, lambda found: [])).items()
        if value is not None
    }
    if touch.pc is not None:
        fields["pc"] = f"0x{touch.pc:x}"
    return fields


def _who(how: str) -> Handler:
    def handler(call: MiCall) -> Fields | Answer:
        words, count, lanes = list(call.words), None, False
        while words and words[0] in ("-n", "--lanes"):
            if words.pop(0) == "--lanes":
                lanes = True
            elif not words or not words[0].isdecimal() or not int(words[0]):
                raise MiError(_USAGE.format(call.name))
            else:
                count = int(words.pop(0))
        expression = " ".join(words)
        if not expression:
            raise MiError(_USAGE.format(call.name))
        if count is None and not lanes:
            return execution.back(call.bridge, lambda s: s.provenance.jump(expression, how))
        session = call.bridge.process(NOT_STARTED)
        found = session.provenance.touches(expression, how, count or 1, lanes)
        return {"touches": [touch_fields(touch) for touch in found]}

    return handler


def cause_fields(cause: Derivation) -> Fields:
    """A tree as nested tuples; what a value does not have is left out."""
    data = data_of(Card(cause, lambda found: []))
    fields = {key: value for key, value in data.items() if value is not None}
    if cause.pc is not None:
        fields["pc"] = f"0x{cause.pc:x}"
    return {**fields, "children": [cause_fields(child) for child in cause.children]}


@mi("gpudbg-why")
def why(call: MiCall) -> Fields:
    """What a value was computed from."""
    words, depth, control = list(call.words), 4, False
    while words and words[0] in ("--depth", "--control"):
        if words.pop(0) == "--control":
            control = True
        elif not words or not words[0].isdecimal() or not int(words[0]):
            raise MiError(_WHY)
        else:
            depth = int(words.pop(0))
    if not words:
        raise MiError(_WHY)
    session = call.bridge.process(NOT_STARTED)
    return {"cause": cause_fields(session.provenance.why(" ".join(words), depth, control))}


mi("gpudbg-who-wrote")(_who("write"))
mi("gpudbg-who-read")(_who("read"))
