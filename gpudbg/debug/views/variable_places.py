"""Where variables are, in words: `info scope`, `info address`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.debug.values.variables import known_variables
from gpudbg.symbols.variable_types import source_name

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.symbols.debug_variables import DebugVariable


def scope_words(session: DebugSession, pc: int) -> dict[str, str]:
    """The variables in scope at a pc, innermost block first, and what is said of each: where it is,
    in PTX registers and frames as the debug information has it.

    The name of one that another hides has its block behind it (`n@1`).
    """
    section, offset = session.symbols.image.section_offset(pc) or ("", 0)
    known = known_variables(session.program)
    function = known.functions.get(section)
    scopes = list(reversed(function.around(offset))) if function is not None else []
    found: dict[str, str] = {}
    for depth, scope in enumerate(scopes):
        lasting = known.lasting(scope.function) if scope.function else ()
        for variable in (*scope.variables, *lasting):
            name = variable.name if variable.name not in found else f"{variable.name}@{depth}"
            found[name] = _place_words(session, variable)
    return found


def _place_words(session: DebugSession, variable: DebugVariable) -> str:
    """`Symbol n is a parameter in PTX register %r4, length 4.`"""
    names = list(dict.fromkeys(r.register for r in variable.registers))
    if names:
        place = f"in PTX register{'s' * (len(names) > 1)} {', '.join(names)}"
    elif variable.frame_offset is not None:
        place = f"at frame address {variable.frame_offset:+d}"
    elif variable.symbol and (static := static_place(session, variable.symbol)):
        return f"Symbol {variable.name} is {static[0]}."
    else:
        place = "that is optimized out" if variable.constant is None else "that is a constant"
    kind = "parameter" if variable.parameter else "variable"
    size = variable.type.size if variable.type is not None else 0
    return f"Symbol {variable.name} is a {kind} {place}, length {size}."


def static_place(session: DebugSession, name: str) -> tuple[str, dict[str, Any]] | None:
    """Where a variable of static storage is: as words and as data; None: it is none."""
    row = session.symbols.variable(name)
    if row is not None:
        address = session.memory.address_of(row.name)
        return (
            f"static storage at {row.space} address 0x{address:x}, {row.size} bytes",
            {"space": row.space, "address": address, "size": row.size},
        )
    for var in session.program.shared_vars:
        if name in (var.name, source_name(var.name)):
            return (
                f"static storage at shared address 0x{var.offset:x} of each block, {var.size} "
                "bytes",
                {"space": "shared", "address": var.offset, "size": var.size},
            )
    return None
