"""Fault card: what exactly went wrong, whose fault is it, what do I press."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click

from gpudbg.answers import coordinates, dim
from gpudbg.debug.stops import FaultCard
from gpudbg.debug.values import float_words
from gpudbg.frontends.tui.actions import Action
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.keys import bindings, key_row
from gpudbg.frontends.tui.screens.card import CardFrame, CardScreen
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.code import text_spans

LABEL = "   {:7}"
TIGHT = 32
"""Rows below which the card is short."""


def size_words(count: int) -> str:
    """`256 B`, `64 KiB`, `256 MiB`: exact bytes where no unit divides them."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            value = count / unit
            return f"{value:,.1f}".removesuffix(".0") + f" {name}"
    return f"{count:,} B"


def gap_words(card: FaultCard) -> str:
    """`256 MiB past the end`, `4 B before the start`."""
    near = card.nearest
    if near is None:
        return ""
    if near.side == "inside":
        return f"{size_words(near.gap)} after the start"
    if not near.gap:
        return "right past the end"
    return size_words(near.gap) + (" past the end" if near.side == "after" else " before the start")


def operand_rows(card: FaultCard, column: int, glyphs: Glyphs) -> list[Row]:
    """The operands under the instruction: a rule under each, and lines down to their values."""
    found = sorted((o for o in card.operands if o.column >= 0), key=lambda o: o.column)
    if not found or card.place.code is None:
        return []
    under = [" "] * (column + len(card.place.code.text) + 2)
    for o in found:
        name = o.name.split(":")[0]
        under[column + o.column : column + o.column + len(name)] = glyphs.rule * len(name)
    rows = [row(("".join(under), "muted"))]
    for n in range(len(found) - 1, -1, -1):
        o = found[n]
        spans: list[Span] = []
        at = 0
        for earlier in found[:n]:
            spans.append((" " * (column + earlier.column - at) + glyphs.column, "muted"))
            at = column + earlier.column + 1
        bad = o.name == card.address_operand
        style = "stop.b" if bad else "you"
        value = f"0x{o.value:0{16 if ':' in o.name else 8}x}"
        if o.kind == "predicate":
            value = str(bool(o.value)).lower()
        elif o.floats:
            value += f"   {float_words(o.value)}"
        if bad and card.address is not None and ":" in o.name:
            value = f"0x{o.value:x}"
        spans.append((" " * (column + o.column - at) + glyphs.tree + " ", "muted"))
        spans.append((f"{o.name} = {value}", style))
        if bad and card.address is not None and card.address != o.value:
            spans.append((f"   address 0x{card.address:x}", "stop"))
        if bad and card.sum:
            spans.append((f" = {card.sum}", "text"))
        rows.append(row(*spans))
    return rows


def distance_rows(card: FaultCard, width: int, glyphs: Glyphs) -> list[Row]:
    """The address against the nearest allocation, as a line."""
    near = card.nearest
    if near is None or card.address is None:
        return []
    elements = f"  {near.elements.replace(' x ', f' {glyphs.times} ')}" if near.elements else ""
    body = f" {near.name}{elements}  {size_words(near.size)} "
    gap = f" {gap_words(card)} "
    if width < 80:
        body = f" {near.name}  {size_words(near.size)} "
    room = max(width - len(body) - len(gap) - 12, 8)
    rule = glyphs.rule * max(min(room // 4, 10), 2)
    dots = (glyphs.far + " ") * max(min(room // 8, 6), 1)
    box = f"{glyphs.tee_left}{rule}{body}{rule}{glyphs.tee_right}"
    base, end = f"0x{near.base:x}", f"0x{near.base + near.size:x}"
    far = f"0x{card.address:x}"
    if near.side == "inside":
        line = row(("   ", "text"), (box, "path-c"), (gap, "text"))
        return [row((f"   {base:{max(len(box) - len(end), len(base) + 2)}}{end}", "muted")), line]
    tail = f" {dots}{gap.strip()} {dots}"
    if near.side == "after":
        line = row(("   ", "text"), (box, "path-c"), (tail, "text"), (glyphs.cross, "bg/stop"))
        head = f"   {base}".ljust(3 + len(box) - 1) + end
        top = head.ljust(max(3 + len(box) + len(tail) - len(far) + 1, len(head) + 2)) + far
    else:
        line = row(("   ", "text"), (glyphs.cross, "bg/stop"), (tail, "text"), (box, "path-c"))
        top = f"   {far}".ljust(3 + 1 + len(tail)) + base
    return [row((top, "muted")), line]


def lane_row(card: FaultCard, glyphs: Glyphs, width: int) -> list[Row]:
    """Which lanes are guilty, which run, which are parked or gone."""
    cells: list[Span] = []
    for lane in range(32):
        bit = 1 << lane
        if card.guilty & bit:
            cells.append((glyphs.cross, "bg/stop"))
        elif not card.valid & bit:
            cells.append((glyphs.never, "dim"))
        elif card.exited & bit:
            cells.append((glyphs.exited, "dim"))
        elif card.active & bit:
            cells.append((glyphs.running, "run-quiet"))
        else:
            cells.append((glyphs.parked, "path-b"))
    ruler = "0       8       16      24     31"
    return [
        row((LABEL.format("Lanes"), "muted"), (ruler, "muted")),
        row(
            (LABEL.format(""), "text"),
            *cells,
            ("   " + card.lane_words, "muted"),
            lanes=(len(LABEL.format("")), 1),
        ),
    ]


def card_rows(
    card: FaultCard, view: ScreenView, glyphs: Glyphs, width: int, tight: bool
) -> list[Row]:
    """All rows of the card; `tight` leaves out what 80x24 has no room for."""
    rows: list[Row] = []
    gap = [] if tight else [Row()]
    rows.append(
        Row(
            ((f" {glyphs.cross} ", "stop.b"), (card.title, "stop.b"), (f"   {card.what}", "text")),
            right=((f"fault {card.number} of {card.total} ", "muted"),) if card.total > 1 else (),
        )
    )
    rows += gap
    where, at = LABEL.format("Where"), card.place
    rows.append(row((where, "muted"), (at.where, "text"), (f"  {at.line}", "muted")))
    cta = coordinates(at.block, view.snapshot.grid)
    thread = coordinates(at.thread, view.snapshot.block)
    live = card.valid.bit_count()
    sm = f"SM {at.sm}  " if view.snapshot.num_sms > 1 else ""
    rows.append(
        row(
            (LABEL.format("Who"), "muted"),
            (f"{sm}CTA {cta}  warp {at.warp}  lane {at.lane}", "text"),
            (f"   thread {thread}", "muted"),
            (f"   {card.active.bit_count()} of {live} lanes active", "muted"),
        )
    )
    rows.append(Row())
    rows += _code_rows(card, glyphs, tight)
    distance = [r._replace(key="memory") for r in distance_rows(card, width - 4, glyphs)]
    if distance:
        rows += [Row(), *(distance[1:] if tight else distance)]
    if not tight and card.guilty:
        rows += [Row(), *lane_row(card, glyphs, width)]
    rows += _status_rows(card, gap, tight)
    rows += _why_rows(card, width, tight, glyphs.cut)
    rows += [Row(), _key_row(card, tight)]
    return rows


def _code_rows(card: FaultCard, glyphs: Glyphs, tight: bool) -> list[Row]:
    rows: list[Row] = []
    if card.before is not None and not tight:
        guard, name, rest = text_spans(card.before.text, quiet=True)
        guard = (guard[0] if guard[0].strip() else "", guard[1])
        rows.append(row((f"   {card.before.offset:04x}   ", "muted"), guard, name, *rest))
    if card.place.code is not None:
        guard, name, rest = text_spans(card.place.code.text)
        guard = (f"{guard[0].strip()} " if guard[0].strip() else "", guard[1])
        place = f"{card.place.code.offset:04x}   "
        parts: list[Span] = [(f" {glyphs.pc} ", "stop"), (place, "stop.b"), guard, name, *rest]
        rows.append(row(*parts, key="go"))
        rows += operand_rows(card, 10, glyphs)
    return rows


def _status_rows(card: FaultCard, gap: list[Row], tight: bool) -> list[Row]:
    rows = [
        Row(
            ((f"   {w.name:21}", "muted"), (f"0x{w.value:08x}  {w.text:30}", "text")),
            right=((f"{w.mark} ", "muted"),),
        )
        for w in (card.status[-1:] if tight else card.status)
    ]
    if card.cuda_gdb and not tight:
        rows.append(
            Row(
                ((f"   {'cuda-gdb would say':21}", "muted"), (card.cuda_gdb, "text")),
                right=(("inferred ", "muted"),),
            )
        )
    return [Row(), *rows] if rows else []


def _why_rows(card: FaultCard, width: int, tight: bool, cut: str) -> list[Row]:
    import textwrap

    lines: list[str] = []
    for sentence in card.why[-1:] if tight else card.why[:8]:
        lines += textwrap.wrap(sentence, width - 16) or [""]
    if not lines:
        return []
    most = 2 if tight else 12
    if len(lines) > most:
        lines[most - 1] += f" {cut}"
    rows = [
        row((LABEL.format("Why" if not n else ""), "muted"), (text, "text"))
        for n, text in enumerate(lines[:most])
    ]
    return [Row(), *rows]


def _keys(card: FaultCard, tight: bool) -> list[tuple[str, str, Action]]:
    """(key, words, action) for each of the card's keys."""
    return key_row("fault", {}, ("nearest",) if card.nearest is not None else (), short=tight)


def _key_row(card: FaultCard, tight: bool) -> Row:
    spans: list[Span] = [("   ", "text")]
    for key, words, _ in _keys(card, tight):
        spans += [(key, "you.b"), (f" {words}   ", "text")]
    return row(*spans, key="keys")


def key_at(card: FaultCard, tight: bool, column: int) -> Action | None:
    """The action of the key whose words a column of the key row shows."""
    at = 3
    for key, words, action in _keys(card, tight):
        end = at + len(key) + len(words) + 4
        if at <= column < end:
            return action
        at = end
    return None


def plain_lines(card: FaultCard, view: ScreenView) -> list[str]:
    """The card as text for the clipboard."""
    from gpudbg.frontends.tui.glyphs import UNICODE

    head = f"{card.title}, block {dim(card.place.block)} thread {dim(card.place.thread)}"
    return [head, *(r.text for r in card_rows(card, view, UNICODE, 100, False)[:-2])]


class FaultScreen(CardScreen):
    """The card of the stop's fault."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("fault")

    def __init__(self, view: ScreenView, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.view = view

    def frame(self, width: int, height: int) -> CardFrame:
        """Everything at 32 rows and more, the short form below."""
        card = self.view.fault
        assert card is not None
        wide = min(width - 2, 106)
        rows = card_rows(card, self.view, self.appearance.glyphs, wide, tight=height < TIGHT)
        if len(rows) + 2 > height:
            rows = [r for r in rows[:-2] if r.spans][: height - 4] + rows[-2:]
        return CardFrame(self.appearance, rows, wide, "stop")

    def on_click(self, event: object) -> None:
        """A lane takes the focus, the address shows its memory, the instruction its place."""
        frame, card = self.query_one(CardFrame), self.view.fault
        assert isinstance(event, Click)
        if event.widget is not frame or card is None or not 0 < event.y <= len(frame.rows):
            return
        line, column = frame.rows[event.y - 1], event.x - 1
        if line.lanes is not None and 0 <= (lane := column - line.lanes[0]) < 32:
            if card.valid >> lane & 1:
                self.dismiss(f"lane {lane}")
        elif line.key == "keys":
            action = key_at(card, self.app.size.height < TIGHT, column)
            if action is not None:
                self.call_later(self.run_action, action.do)
        elif line.key is not None:
            self.dismiss(str(line.key))

    def action_answer(self, word: str) -> None:
        """Close with an answer for the main screen."""
        self.dismiss(word)

    def action_copy(self) -> None:
        """The card as text."""
        card = self.view.fault
        assert card is not None
        self.app.copy_to_clipboard("\n".join(plain_lines(card, self.view)))
