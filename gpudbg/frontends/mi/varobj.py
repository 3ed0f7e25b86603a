"""Variable objects: expressions that clients watch, with children for arrays, pointers, vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.values import frames
from gpudbg.debug.views import code_pointer, data_text, style_of
from gpudbg.debug.views import value_text as lane_value_text
from gpudbg.errors import CommandError
from gpudbg.expr import OPTIMIZED_OUT, Array, Pointer, Scalar, Struct, names, parse, spelled
from gpudbg.frontends.mi.parser import MiError

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.expr import Result

FORMATS = {
    "natural": None,
    "binary": "t",
    "decimal": "d",
    "hexadecimal": "x",
    "octal": "o",
    "zero-hexadecimal": "z",
}
"""MI's format names -> the letters of `print`."""

VECTORS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
AXES = "xyz"
GONE = "<out of scope>"


def format_letter(name: str) -> str | None:
    """The print letter of a format name, which may be cut short.

    Raises:
        MiError: no such format.
    """
    found = [f for f in FORMATS if f.startswith(name)] if name else []
    if not found:
        raise MiError(
            "Must specify the format as: "
            '"natural", "binary", "decimal", "hexadecimal", "octal" or "zero-hexadecimal"'
        )
    return FORMATS[found[0]]


BoundFrame = tuple[int, str]


def frame_bound(session: DebugSession, path: str) -> BoundFrame | None:
    """The selected frame, where an expression names variables of it."""
    if session.focus is None:
        return None
    context = session.context()
    if not any(context.variable(base_of(name.text)) for name in names(parse(path))):
        return None
    rows = frames(session)
    level = min(session.frame_level, len(rows) - 1)
    return len(rows) - level, rows[level].function


def base_of(name: str) -> str:
    """`x` of `x.a.b`."""
    return name.partition(".")[0]


def enter_frame(session: DebugSession, bound: BoundFrame | None) -> bool:
    """Select the frame that an object is bound to; False where it has been left."""
    if bound is None or session.focus is None:
        return True
    rows = frames(session)
    level = len(rows) - bound[0]
    if level < 0 or rows[level].function != bound[1]:
        return False
    session.frame_level = level
    return True


@dataclass(slots=True)
class VarObject:
    """One variable object.

    Attributes:
        name: as the client knows it; children are `parent.exp`.
        exp: what a client shows.
        path: the expression.
        thread: thread number it is bound to, None when it floats with the selection.
        letter, format: print format.
        value, type: as last reported.
        count: children.
        frozen: not looked at by updates.
        frame: the call frame whose variables it names: how far from the outermost, its function;
            None where it names none.
        seen: of one that floats, the frame it was looked at in last: what its children are from.
    """

    name: str
    exp: str
    path: str
    thread: int | None
    letter: str | None = None
    format: str = "natural"
    value: str = ""
    type: str = ""
    count: int = 0
    in_scope: bool = True
    frozen: bool = False
    frame: BoundFrame | None = None
    seen: BoundFrame | None = None
    vector: bool = False
    members: tuple[str, ...] = ()
    children: list[str] = field(default_factory=list)

    def take(self, now: Shown) -> None:
        """What it is at present."""
        self.value, self.type, self.count = now.value, now.type, now.count
        self.members = now.members


@dataclass(frozen=True, slots=True)
class Shown:
    """What an expression is at present."""

    value: str
    type: str
    count: int
    members: tuple[str, ...] = ()


def show(session: DebugSession, path: str, letter: str | None) -> Shown:
    """Value, type and number of children of an expression.

    Raises:
        CommandError: it has no value.
    """
    if path in VECTORS:
        return Shown("{...}", "dim3" if path.endswith("Dim") else "uint3", 3)
    pointer = code_pointer(session, path) if letter is None else None
    if pointer is not None:
        return Shown(pointer, "void (*)()", 0)
    result = session.evaluate(path)
    kind = result.type
    lane = session.focus.lane if session.focus is not None else 0
    if result.why.startswith(OPTIMIZED_OUT) and not result.valid[lane]:
        return Shown(OPTIMIZED_OUT, spelled(kind), 0)
    if isinstance(kind, Struct):
        names = tuple(member_names(kind))
        return Shown("{...}", spelled(kind), len(names), names)
    if isinstance(kind, Array):
        return Shown(f"[{kind.count}]", spelled(kind), kind.count)
    if isinstance(kind, Pointer):
        return Shown(value_text(session, result, letter), spelled(kind), 1)
    return Shown(value_text(session, result, letter), spelled(kind), 0)


def member_names(type_: Struct) -> Iterator[str]:
    """Members, bases as `<Base>`; of a union without a name its own, as a program writes them."""
    for row in type_.fields:
        if row.name:
            yield row.name
        elif isinstance(row.type, Struct):
            yield from member_names(row.type)


def value_text(session: DebugSession, result: Result, letter: str | None = None) -> str:
    """The focused lane's value as clients show it: numbers plainly, addresses in hex."""
    lane = session.focus.lane if session.focus is not None else 0
    if not result.valid[lane]:
        raise CommandError(result.why or "no value in the focused lane")
    style = style_of(session)
    if isinstance(result.type, Scalar):
        return lane_value_text(result, lane, style.letter(result.type, letter))
    bits = int(result.values[lane])
    if isinstance(result.type, Pointer):
        from gpudbg.debug.views import format_bits

        return format_bits(bits, 8, letter or "x")
    raw = session.memory.bytes_of(result, lane)
    return data_text(result.type, raw, letter, style, follow=session.memory.at)


class VarObjects:
    """All variable objects of a client."""

    def __init__(self) -> None:
        self.rows: dict[str, VarObject] = {}
        self._next = 1

    def get(self, name: str) -> VarObject:
        """By name.

        Raises:
            MiError: gdb's words.
        """
        if name not in self.rows:
            raise MiError("Variable object not found")
        return self.rows[name]

    def new_name(self, wanted: str) -> str:
        """A free name for `-`, or the wanted one.

        Raises:
            MiError: taken, or no name.
        """
        if wanted == "-":
            while f"var{self._next}" in self.rows:
                self._next += 1
            self._next += 1
            return f"var{self._next - 1}"
        if not wanted or not (wanted[0].isalpha() or wanted[0] == "_"):
            raise MiError(f"-var-create: {wanted!r} is not a valid name of a variable object")
        if wanted in self.rows:
            raise MiError("Duplicate variable object name")
        return wanted

    def create(
        self, session: DebugSession, name: str, path: str, thread: int | None, letter: str | None
    ) -> VarObject:
        """A root object; errors as `show`."""
        now = show(session, path, letter)
        found = frame_bound(session, path) if path not in VECTORS else None
        bound, seen = (found, None) if thread is not None else (None, found)
        row = VarObject(self.new_name(name), path, path, thread, letter, frame=bound, seen=seen)
        row.take(now)
        row.vector = path in VECTORS
        self.rows[row.name] = row
        return row

    def expand(self, session: DebugSession, row: VarObject, first: int, last: int) -> list[str]:
        """Names of the children `first` to `last`, made where they are not yet."""
        names, level = [], session.frame_level
        for exp, path in self._children(row)[first:last]:
            name = f"{row.name}.{exp}"
            names.append(name)
            if name in self.rows:
                continue
            enter_frame(session, row.seen)
            child = VarObject(name, exp, path, row.thread, row.letter, row.format, frame=row.frame)
            child.seen = row.seen
            child.in_scope = self._refresh(session, child)
            self.rows[name] = child
            row.children.append(name)
            if row.seen is not None:
                session.frame_level = level
        return names

    def _children(self, row: VarObject) -> list[tuple[str, str]]:
        if row.vector:
            return [(axis, f"{row.path}.{axis}") for axis in AXES]
        if row.members:
            return [(name.strip("<>"), f"({row.path}).{name}") for name in row.members]
        if row.value.startswith("[") and row.count:
            return [(str(n), f"({row.path})[{n}]") for n in range(row.count)]
        return [(f"*{row.exp}", f"*({row.path})")] if row.count else []

    def _refresh(self, session: DebugSession, row: VarObject) -> bool:
        if not enter_frame(session, row.frame):
            return False
        try:
            now = show(session, row.path, row.letter)
        except CommandError as e:
            row.value = f"<error: {e.message}>"
            return False
        row.take(now)
        return True

    def update(self, session: DebugSession, row: VarObject) -> bool:
        """Look again; whether anything is different."""
        before = (row.value, row.type, row.in_scope)
        row.in_scope = self._refresh(session, row)
        if row.thread is None and row.in_scope and row.path not in VECTORS:
            row.seen = frame_bound(session, row.path)
        return (row.value, row.type, row.in_scope) != before

    def family(self, row: VarObject) -> list[VarObject]:
        """An object and all below it."""
        out = [row]
        for name in row.children:
            if name in self.rows:
                out += self.family(self.rows[name])
        return out

    def delete(self, row: VarObject, only_children: bool) -> int:
        """Forget an object with its children, or only these; how many."""
        gone = self.family(row)[1 if only_children else 0 :]
        for one in gone:
            self.rows.pop(one.name, None)
        if only_children:
            row.children.clear()
        else:
            for parent in self.rows.values():
                if row.name in parent.children:
                    parent.children.remove(row.name)
        return len(gone)
