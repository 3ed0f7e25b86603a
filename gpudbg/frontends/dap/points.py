"""A client's breakpoints: it sends all of a kind, and what is new or gone follows from that.

Conditions are expressions of the session.  Hit counts and log messages are the adapter's own: a
callback counts hits, prints, and lets the run go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug.breakpoints import Breakpoint
from gpudbg.debug.stops import Stop
from gpudbg.errors import CommandError, GpudbgError

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.dap.protocol import Body

Key = tuple[str, ...]
HIT = re.compile(r"\s*(?P<how>>=|<=|==|=|>|<|%)?\s*(?P<number>\d+)\s*$")
PIECE = re.compile(r"\{([^{}]*)\}")
REASONS = {"function": "function breakpoint", "instruction": "instruction breakpoint"}


def hit_test(text: str) -> Callable[[int], bool]:
    """Whether the n-th hit stops: `5` (from the fifth on), `== 5`, `> 5`, `% 5`.

    Raises:
        CommandError: it is none of these.
    """
    m = HIT.match(text)
    if m is None or (m["how"] == "%" and not int(m["number"])):
        raise CommandError(f"hit count {text!r}: 5, == 5, > 5, >= 5, < 5, <= 5 or % 5")
    number = int(m["number"])
    tests: Mapping[str, Callable[[int], bool]] = {
        ">=": lambda n: n >= number,
        "<=": lambda n: n <= number,
        ">": lambda n: n > number,
        "<": lambda n: n < number,
        "%": lambda n: not n % number,
        "==": lambda n: n == number,
    }
    return tests.get({None: ">=", "=": "=="}.get(m["how"], m["how"]), tests[">="])


@dataclass(frozen=True, slots=True)
class WatchedPlace:
    """What a client may watch: an expression of a frame, which has `outside` frames around it.

    Attributes:
        store: each write counts, of the same value too.
    """

    path: str
    thread: int
    outside: int
    lane: int | None
    store: bool = False


class Points:
    """The breakpoints of one client, by kind and then by what the client sent.

    Attributes:
        places: what `dataId` of a data breakpoint stands for.
    """

    def __init__(self, opened: Callable[[], DebugSession], say: Callable[[str], None]) -> None:
        """Args: opened: the session, or an error.  say: takes what log points write."""
        self._opened, self._say = opened, say
        self._known: dict[str, dict[Key, Breakpoint]] = {}
        self._console: set[int] = set()
        self._reported: dict[int, Body] = {}
        self.places: dict[str, WatchedPlace] = {}

    def place_of(self, place: WatchedPlace) -> str:
        """A place's `dataId`."""
        lane = "" if place.lane is None else f" lane {place.lane}"
        name = f"{place.path} [thread {place.thread}{lane} frame {place.outside}]"
        self.places[name] = place
        return name

    def reset(self) -> None:
        """Forget all of them: another program is opened."""
        self._known.clear()
        self.places.clear()
        self._console.clear()
        self._reported.clear()

    def known(self, numbers: Iterable[int]) -> list[int]:
        """Those of some numbers that the client has set."""
        mine = {p.number for rows in self._known.values() for p in rows.values()}
        return [n for n in numbers if n in mine]

    def changes(self) -> list[Body]:
        """What console lines have set and deleted since the last time: bodies of `breakpoint`."""
        there = {p.number: p for p in self._opened().breakpoints}
        mine = {p.number for rows in self._known.values() for p in rows.values()}
        gone = (self._console | mine) - there.keys()
        new = there.keys() - mine - self._console
        for kind, rows in self._known.items():
            self._known[kind] = {k: p for k, p in rows.items() if p.number not in gone}
        self._console = (self._console | new) - gone
        removed: list[Body] = [
            {"reason": "removed", "breakpoint": {"id": n, "verified": False}} for n in sorted(gone)
        ]
        before, self._reported = (
            self._reported,
            {n: self._state(point) for n, point in there.items()},
        )
        changed = [
            {"reason": "changed", "breakpoint": body}
            for n, body in sorted(self._reported.items())
            if n not in new and body != before.get(n, {**body, "verified": True})
        ]
        return (
            removed
            + changed
            + [{"reason": "new", "breakpoint": self._reported[n]} for n in sorted(new)]
        )

    def _state(self, point: Breakpoint) -> Body:
        """A breakpoint as `breakpoint` tells it: one that is switched off is not verified."""
        off: Body = {} if point.enabled else {"message": "disabled"}
        return {"id": point.number, "verified": point.enabled, **off, **self._place(point)}

    def reason(self, numbers: Collection[int]) -> str:
        """The protocol's word for a stop at some breakpoints."""
        for kind, rows in self._known.items():
            if any(p.number in numbers for p in rows.values()):
                return REASONS.get(kind, "breakpoint")
        return "breakpoint"

    def replace(
        self,
        kind: str,
        rows: list[Body],
        key: Callable[[Body], Key],
        make: Callable[[DebugSession, Body], Breakpoint],
    ) -> list[Body]:
        """Set those of a kind that are new, keep the others, delete what is gone."""
        session = self._opened()
        old = self._known.get(kind, {})
        found: dict[Key, Breakpoint] = {}
        answers: list[Body] = []
        for row in rows:
            try:
                words = (*key(row), *(str(row.get(k, "")) for k in FIELDS))
                point = found.get(words) or old.get(words)
                if point is None:
                    point = make(session, row)
                    self._watched(session, point, row)
                found[words] = point
                answers.append({"id": point.number, "verified": True, **self._place(point)})
            except GpudbgError as error:
                answers.append({"verified": False, "message": str(error), "reason": "failed"})
        for words, point in old.items():
            if words not in found:
                with suppress(GpudbgError):
                    session.on_hit(point, None)
                    session.execute(f"delete {point.number}")
        self._known[kind] = found
        return answers

    def _place(self, point: Breakpoint) -> Body:
        """Where a breakpoint is."""
        session = self._opened()
        line = point.line
        body: Body = {}
        if line is not None:
            body = {"line": line.number, "source": source_of(session, line.file)}
        if point.addresses:
            body["instructionReference"] = f"0x{min(point.addresses):x}"
        return body

    def _watched(self, session: DebugSession, point: Breakpoint, row: Body) -> None:
        """Hit counts and log messages of a new breakpoint."""
        log, hits = row.get("logMessage"), row.get("hitCondition")
        if not log and not hits:
            return
        test = hit_test(str(hits)) if hits else None
        count = 0

        def met(here: DebugSession, stop: Stop) -> bool:
            nonlocal count
            count += 1
            if test is not None and not test(count):
                return False
            if not log:
                return True
            self._say(filled(here, str(log)) + "\n")
            return False

        try:
            session.on_hit(point, met)
        except GpudbgError:
            session.execute(f"delete {point.number}")
            raise


FIELDS = ("condition", "hitCondition", "logMessage")


def filled(session: DebugSession, message: str) -> str:
    """A log message with its expressions replaced by their values."""

    def value(m: re.Match[str]) -> str:
        try:
            return str(session.command(f"output {m[1]}").text)
        except GpudbgError as error:
            return f"<{error}>"

    return PIECE.sub(value, message)


def source_of(session: DebugSession, file: str) -> dict[str, Any]:
    """A source file as the protocol has it; one that is not here is asked for by its number."""
    full = session.sources.fullname(file)
    name = file.rpartition("/")[2]
    if session.sources.find(file) is not None:
        return {"name": name, "path": full}
    number = 0
    if session.sources.lines(file) is not None and file in session.symbols.files:
        number = session.symbols.files.index(file) + 1
    return {"name": name, "path": full, **({"sourceReference": number} if number else {})}
