"""Which predicates a comparison or a combination of predicates leaves undefined.

`false && x` is false whatever `x` is: where one side is defined and decides, the result is defined.
Compilers make such code of `i < n && a[i] > 0`, with both sides computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpudbg.isa.operands import PT, Const, Imm, Pred, Reg
from gpudbg.mem.lanes import FULL, pack

if TYPE_CHECKING:
    from gpudbg.mem.constant import ConstantBanks
    from gpudbg.sm.state import WarpState

_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip
_SETS: Final = frozenset(("ISETP", "FSETP", "DSETP"))

Undefined = tuple[int, int]
"""Lane masks: first result undefined, second result undefined."""


def undefined_results(
    warp: WarpState, insn: Any, predicates: Any, compared: int, constants: ConstantBanks | None
) -> Undefined | None:
    """Lanes in which the results of an instruction that sets predicates are undefined.

    Args:
        predicates: mask of undefined lanes by predicate.
        compared: lanes in which what is compared is undefined.
        constants: of the launch.

    Returns:
        None: it is not one of those that are known here.
    """
    if insn.op in _SETS:
        return _compared(warp, insn, predicates, compared, constants)
    if insn.op in ("PSETP", "PLOP3"):
        return _combined(warp, insn, predicates)
    return None


def _state(warp: WarpState, operand: Any, predicates: Any) -> tuple[int, int]:
    """(value, undefined lanes) of a predicate operand, as lane masks."""
    if not isinstance(operand, Pred) or operand.file != "P":
        return FULL, 0
    held = FULL if operand.index == PT else int(warp.predicates[operand.index])
    unknown = 0 if operand.index == PT else int(predicates[operand.index])
    return held ^ (FULL if operand.neg else 0), unknown


def _compared(
    warp: WarpState, insn: Any, predicates: Any, compared: int, constants: ConstantBanks | None
) -> Undefined:
    words = insn.text().replace(",", " ").split()
    name = next((w for w in words if w.startswith(insn.op)), "").split(".")
    wide = "pa" in insn.o
    chained = insn.o.get("pb") if wide else None
    value, unknown = _state(warp, insn.o.get("pa" if wide else "pc"), predicates)
    if chained is not None:
        compared |= _state(warp, chained, predicates)[1]
    decided = (0, 0)
    known = None
    if compared != FULL and chained is None:
        known = _result(warp, insn, name, constants)
    if "AND" in name:
        decides = ~value & ~unknown
        if known is not None:
            decided = (~known & ~compared, known & ~compared)
    elif "OR" in name:
        decides = value & ~unknown
        if known is not None:
            decided = (known & ~compared, ~known & ~compared)
    else:
        decides = 0
    bad = (compared | unknown) & ~decides & FULL
    return bad & ~decided[0], bad & ~decided[1]


def _result(
    warp: WarpState, insn: Any, name: Sequence[str], constants: ConstantBanks | None
) -> int | None:
    """Result of an integer comparison as a lane mask; None where it is unknown."""
    compare = next((_COMPARISONS[word] for word in name if word in _COMPARISONS), None)
    if insn.op != "ISETP" or compare is None or {"X", "EX"} & set(name):
        return None
    kind = np.uint32 if "U32" in name else np.int32
    sides = [word_of(warp, insn.o.get(slot), constants) for slot in ("a", "b")]
    if any(side is None for side in sides):
        return None
    return pack(compare(*(np.asarray(side, np.uint32).view(kind) for side in sides)))


def word_of(warp: WarpState, operand: Any, constants: ConstantBanks | None) -> Any:
    """An operand's value by lane; None where it is unknown."""
    if isinstance(operand, Imm):
        return np.full(32, int(operand.value) & 0xFFFFFFFF, np.uint32)
    if getattr(operand, "neg", True) or getattr(operand, "abs", True):
        return None
    if isinstance(operand, Const) and operand.handle is None:
        if constants is None or operand.place % 4:
            return None
        if operand.place >= constants.bound(operand.bank):
            return None
        return np.full(32, int(constants.word(operand.bank, operand.place)[0]), np.uint32)
    if isinstance(operand, Reg) and operand.file == "R":
        row = warp.rows[operand.index]
        return np.zeros(32, np.uint32) if row is None else row
    if isinstance(operand, Reg) and operand.file == "UR":
        scalar = 0 if operand.is_zero else warp.UR[operand.index]
        return np.broadcast_to(np.asarray(scalar, np.uint32), 32)
    return None


def _combined(warp: WarpState, insn: Any, predicates: Any) -> Undefined:
    """PSETP, PLOP3: undefined where the result depends on an undefined input."""
    sides = [_state(warp, insn.o.get(slot), predicates) for slot in ("pa", "pb", "pc")]
    found, first = [0, 0], None
    for choice in range(8):
        given = [v ^ u if choice >> n & 1 else v for n, (v, u) in enumerate(sides)]
        made = _of(insn, *given)
        first = made if first is None else first
        found = [f | (a ^ b) for f, a, b in zip(found, made, first, strict=True)]
    return found[0] & FULL, found[1] & FULL


def _of(insn: Any, a: int, b: int, c: int) -> tuple[int, int]:
    if insn.op == "PLOP3":
        tables = (int(insn.o["imm"].value), int(insn.o["imm2"].value))
        return _table(tables[0], a, b, c), _table(tables[1], a, b, c)
    first, second = insn.text().split("PSETP.")[1].split()[0].split(".")[:2]
    inner = _OPERATIONS[first]
    outer = _OPERATIONS[second]
    return outer(inner(a, b), c), outer(~inner(a, b), c)


def _table(table: int, a: int, b: int, c: int) -> int:
    made = 0
    for row in range(8):
        if table >> row & 1:
            made |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return made


_OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
}
