"""The focus as GPU coordinates: requests that Nsight's extension has, and one line of text.

`changeCudaFocus` and `changedCudaFocus` are named and shaped as that extension's messages are
known to be; `cuda` takes the words of the console's command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.debug.focus import coords_fields, current_coords, parse_coords, switch_to_coords
from gpudbg.debug.stops import Stop
from gpudbg.errors import CommandError
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import request, text_of

if TYPE_CHECKING:
    from gpudbg.frontends.dap.adapter import Adapter

SOFTWARE = {"blockIdx": "block", "threadIdx": "thread"}
HARDWARE = ("sm", "warp", "lane")


@request("cuda")
def cuda(adapter: Adapter, arguments: Body) -> Body:
    """Move the focus: `{"focus": "block (1,0,0) thread (5,0,0)"}`; without words, where it is."""
    return _moved(adapter, text_of(arguments, "focus", ""))


@request("changeCudaFocus")
def change_cuda_focus(adapter: Adapter, arguments: Body) -> Body:
    """Move the focus by its software or hardware coordinates."""
    given = arguments.get("focus")
    focus = given if isinstance(given, dict) else arguments
    words = []
    for key, name in SOFTWARE.items():
        if key in focus:
            words.append(f"{name} {_dim(key, focus[key])}")
    for key in HARDWARE:
        if isinstance(focus.get(key), int):
            words.append(f"{key} {focus[key]}")
    if not words:
        raise CommandError("changeCudaFocus: no coordinates", "blockIdx, threadIdx, sm, warp, lane")
    return _moved(adapter, " ".join(words))


def _dim(key: str, value: object) -> str:
    if isinstance(value, dict):
        value = [value.get(axis, 0) for axis in "xyz"]
    if isinstance(value, str) and re.fullmatch(r"\(?\s*\d+(\s*,\s*\d+){0,2}\s*\)?", value):
        return "(" + value.strip("() ") + ")"
    if not isinstance(value, list) or not all(isinstance(n, int) for n in value):
        raise CommandError(f"{key} {value!r} is no place", '{"x": 1, "y": 0, "z": 0}')
    return "(" + ",".join(map(str, value)) + ")"


def _moved(adapter: Adapter, words: str) -> Body:
    session = adapter.stopped()
    if words.strip():
        _, wanted = parse_coords(words)
        switch_to_coords(session, wanted)
        adapter.ids.sync(session)
        adapter.handles.forget()
        adapter.afterwards.append(lambda: _tell(adapter))
    thread = adapter.ids.focused(session)
    return {"focus": coords_fields(current_coords(session)), "threadId": thread}


def _tell(adapter: Adapter) -> None:
    """Let the client read the focused thread again."""
    session = adapter.stopped()
    fields = coords_fields(current_coords(session))
    adapter.writer.event("changedCudaFocus", {"focus": fields})
    stop = session.stop if isinstance(session.stop, Stop) else None
    adapter.writer.event(
        "stopped",
        {
            "reason": "focus",
            "description": stop.message if stop is not None else "",
            "threadId": adapter.ids.focused(session) or 1,
            "allThreadsStopped": True,
        },
    )
