"""Masks that other blocks use, on hosts that keep them as vectors.

Between basic blocks the code generator has a `<32 x i1>` as 32 bytes: where comparisons give words
it packs those, and takes them apart again in each block that chooses by them.  `far_masks` has the
words themselves go from block to block, of whose signs each block makes the mask anew, which costs
nothing where it chooses.
"""

from __future__ import annotations

import re

from gpudbg.sm.engines.llvm.ir.builder import vector

_KIND = "<32 x i1>"
_WORDS = vector("i32")
_MADE = re.compile(
    r"  (%v\d[\w.]*) = "
    rf"((?:icmp|fcmp) \w+ <32 x .*|(?:and|or|xor) {_KIND} .*|select .*, {_KIND} .*)$"
)
_SIGNS = re.compile(rf"icmp slt {_WORDS} (%v\d[\w.]*), zeroinitializer$")
_OPPOSITE = re.compile(rf"xor {_KIND} (%v\d[\w.]*), splat \(i1 true\)$")
_WIDENED = re.compile(rf"  (%v\d[\w.]*) = sext {_KIND} (%v\d[\w.]*) to {_WORDS}$")
_BELOW, _BELOW_ZERO = f"icmp slt {_WORDS} ", ", zeroinitializer"
_XOR, _NOT = f"xor {_KIND} ", ", splat (i1 true)"
_NAME = re.compile(r"%v\d[\w.]*")


class _FarMasks:
    """One function's.

    Attributes:
        made: name of a mask -> what makes it.
    """

    def __init__(self, lines: list[str], marked: list[int]) -> None:
        """Args: marked: numbers of the labels and of the lines with masks (`_marked`)."""
        self._lines, self._marked = lines, marked
        self._block: dict[str, int] = {}
        self.made: dict[str, str] = {}
        self._widened: set[str] = set()
        """Masks whose words have to be made where they are made."""
        self._here: dict[str, str] = {}
        """Mask -> its name in the present block."""
        self._now = 0
        self._before: list[str] = []
        """Statements that the present one needs before it."""
        for number in marked:
            line = lines[number]
            if line[0] != " ":
                self._now += 1
            elif (found := _MADE.match(line)) is not None:
                self.made[found[1]], self._block[found[1]] = found[2], self._now

    def rewritten(self) -> list[str]:
        """The function's lines."""
        instead = self._with_near_masks()
        for number in self._marked:
            line = self._lines[number]
            name = line[2 : line.index(" ", 2)] if line[:4] == "  %v" else ""
            if name in self._widened:
                made = instead.get(number, [line])
                instead[number] = [*made, f"  {name}.w = sext {_KIND} {name} to {_WORDS}"]
        out: list[str] = []
        begin = 0
        for number in sorted(instead):
            out += self._lines[begin:number]
            out += instead[number]
            begin = number + 1
        return [*out, *self._lines[begin:]]

    def _with_near_masks(self) -> dict[int, list[str]]:
        """Numbers of lines that use masks of other blocks, and what is there instead."""
        self._now = 0
        instead: dict[int, list[str]] = {}
        for number in self._marked:
            line = self._lines[number]
            if line[0] != " ":
                self._now, self._here = self._now + 1, {}
            elif _KIND in line:
                self._before = []
                near = self._with_near(line)
                if near is not line:
                    instead[number] = [*self._before, near]
        return instead

    def _with_near(self, line: str) -> str:
        """A line that uses masks of its own block only."""
        start = line.index(" = ") if line.startswith("  %v") and " = " in line else 0
        uses = [name for name in _NAME.findall(line, start) if self._is_far(name)]
        if not uses:
            return line
        widened = _WIDENED.match(line)
        if widened is not None and not _SIGNS.match(self.made[widened[2]]):
            return f"  {widened[1]} = or {_WORDS} {self._words(widened[2])}, zeroinitializer"
        names = {name: self._near(name) for name in uses}
        return line[:start] + _NAME.sub(lambda n: names.get(n[0], n[0]), line[start:])

    def _is_far(self, name: str) -> bool:
        return self._block.get(name, self._now) != self._now

    def _words(self, name: str) -> str:
        """Words whose signs are a mask, made where it is."""
        known = _SIGNS.match(self.made[name])
        if known is not None:
            return known[1]
        self._widened.add(name)
        return f"{name}.w"

    def _near(self, name: str) -> str:
        """What a mask of another block is called in the present one."""
        known = self._here.get(name)
        if known is None:
            opposite = _OPPOSITE.match(self.made[name])
            if opposite is not None and opposite[1] in self.made:
                other = self._near(opposite[1]) if self._is_far(opposite[1]) else opposite[1]
                text = f"xor {_KIND} {other}, splat (i1 true)"
            else:
                text = f"icmp slt {_WORDS} {self._words(name)}, zeroinitializer"
            known = self._here[name] = f"{name}.n{self._now}"
            self._before.append(f"  {known} = {text}")
        return known


def _marked(lines: list[str]) -> list[int]:
    """Numbers of the labels, and of the lines with masks or with what makes them."""
    return [
        number
        for number, line in enumerate(lines)
        if "cmp " in line or _KIND in line or line[0] != " "
    ]


def _opposite_signs(lines: list[str], marked: list[int]) -> None:
    """Have the opposites of signs compared anew, which the code generator would find out in the
    end: it takes long over what is not a comparison."""
    words: dict[str, str] = {}
    for number in marked:
        line = lines[number]
        if line.endswith(_BELOW_ZERO) and f" = {_BELOW}" in line:
            name, _, text = line[2:].partition(" = ")
            words[name] = text.removeprefix(_BELOW).removesuffix(_BELOW_ZERO)
        elif line.endswith(_NOT) and f" = {_XOR}" in line:
            name, _, text = line[2:].partition(" = ")
            of = words.get(text.removeprefix(_XOR).removesuffix(_NOT))
            if of is not None:
                lines[number] = f"  {name} = icmp sgt {_WORDS} {of}, splat (i32 -1)"


def far_masks(lines: list[str]) -> list[str]:
    """The blocks of a function, in which masks of other blocks are made of words of theirs."""
    made = _FarMasks(lines, _marked(lines)).rewritten()
    _opposite_signs(made, _marked(made))
    return made
