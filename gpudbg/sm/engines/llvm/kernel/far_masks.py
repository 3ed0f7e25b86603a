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

    def __init__(self, lines: list[str]) -> None:
        self._block: dict[str, int] = {}
        self.made: dict[str, str] = {}
        self._widened: set[str] = set()
        """Masks whose words have to be made where they are made."""
        self._here: dict[str, str] = {}
        """Mask -> its name in the present block."""
        self._now = 0
        self._out: list[str] = []
        for line in lines:
            if not line.startswith(" "):
                self._now += 1
            elif ("cmp " in line or _KIND in line) and (found := _MADE.match(line)) is not None:
                self.made[found[1]], self._block[found[1]] = found[2], self._now

    def rewritten(self, lines: list[str]) -> list[str]:
        """The function's lines."""
        self._now, self._out = 0, []
        for line in lines:
            if not line.startswith(" "):
                self._now, self._here = self._now + 1, {}
            elif _KIND in line:
                line = self._with_near(line)
            self._out.append(line)
        if not self._widened:
            return self._out
        done = []
        for line in self._out:
            done.append(line)
            name = line[2 : line.index(" ", 2)] if line.startswith("  %v") else ""
            if name in self._widened:
                done.append(f"  {name}.w = sext {_KIND} {name} to {_WORDS}")
        return done

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
            self._out.append(f"  {known} = {text}")
        return known


def _opposite_signs(lines: list[str]) -> list[str]:
    """The blocks with the opposites of signs compared anew, which the code generator would find out
    in the end: it takes long over what is not a comparison."""
    words: dict[str, str] = {}
    out: list[str] = []
    for line in lines:
        if line.endswith(_BELOW_ZERO) and f" = {_BELOW}" in line:
            name, _, text = line[2:].partition(" = ")
            words[name] = text.removeprefix(_BELOW).removesuffix(_BELOW_ZERO)
        elif line.endswith(_NOT) and f" = {_XOR}" in line:
            name, _, text = line[2:].partition(" = ")
            of = words.get(text.removeprefix(_XOR).removesuffix(_NOT))
            if of is not None:
                line = f"  {name} = icmp sgt {_WORDS} {of}, splat (i32 -1)"
        out.append(line)
    return out


def far_masks(lines: list[str]) -> list[str]:
    """The blocks of a function, in which masks of other blocks are made of words of theirs."""
    return _opposite_signs(_FarMasks(lines).rewritten(lines))
