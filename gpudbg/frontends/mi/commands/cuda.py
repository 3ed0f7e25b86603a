"""cuda-gdb's MI extensions: -cuda-info-…, -cuda-focus-query, -cuda-focus-switch."""

from __future__ import annotations

from typing import Any

from gpudbg.debug import CUDA_INFO_TABLES, build_cuda_info
from gpudbg.debug.focus import coords_fields, current_coords, parse_coords, switch_to_coords
from gpudbg.errors import CommandError
from gpudbg.frontends.mi import shown
from gpudbg.frontends.mi.commands.registry import Handler, MiCall, mi
from gpudbg.frontends.mi.parser import MiError

Fields = dict[str, Any]


def _info(option: str) -> Handler:
    def handler(call: MiCall) -> Fields:
        session = call.bridge.loaded()
        if call.bridge.started:
            call.bridge.process()
        table = build_cuda_info(session, option, " ".join(call.words))
        return shown.table_fields(
            table, table.rows if call.bridge.started else (), lambda row: _row(call, row)
        )

    return handler


def _row(call: MiCall, row: Fields) -> Fields:
    """MI gives the source file by its full path."""
    if "filename" in row and row["filename"] != "n/a":
        session = call.bridge.loaded()
        for file in session.symbols.files:
            if file.endswith(row["filename"]):
                row["filename"] = session.sources.fullname(file)
                break
    return row


for _option in CUDA_INFO_TABLES:
    mi(f"cuda-info-{_option.replace(' ', '-')}")(_info(_option))


@mi("cuda-focus-query")
def focus_query(call: MiCall) -> Fields:
    """The focus, whatever coordinates are named."""
    session = call.bridge.process("Focus is not set on any active CUDA kernel.")
    parse_coords(" ".join(call.words))
    return {"CudaFocus": coords_fields(current_coords(session))}


@mi("cuda-focus-switch", selects=False)
def focus_switch(call: MiCall) -> Fields:
    """Move the focus."""
    session = call.bridge.process("Focus is not set on any active CUDA kernel.")
    asked, wanted = parse_coords(" ".join(call.words))
    if not wanted or asked:
        raise MiError("Missing argument(s).")
    try:
        switch_to_coords(session, wanted)
    except CommandError as e:
        raise MiError(e.message) from None
    call.bridge.mark_selection()
    frame = shown.selected_frame(session)
    return {
        "CudaFocus": coords_fields(current_coords(session)),
        "frame": shown.frame_fields(session, frame, args=True),
    }
