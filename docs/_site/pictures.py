"""Pictures of the site: screens in both themes, a picture of each story, sessions as they run.

`make docs` writes them anew into `docs/pictures`; `python docs/_site/pictures.py [screens]` does it
by hand, with the README's screenshots where `screens` is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from drawings import STYLE, Drawing

from gpudbg.debug import PICTURE, stories
from tests.doc_blocks import ANY, Player
from tests.tui.make_screenshots import SHOTS, shoot

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
THEMES = ("light", "dark")
SHADES = " ░▒▓█"
MARKS = {
    "#": "c0", "_": "off", ".": "gone", "X": "bad", "=": "c4", " ": "none",
}  # fmt: skip
"""Mark of a lane in a story's picture -> class of its cell."""
MORE_STYLE = """
  .gone { fill: none; stroke: #afb8c1; } .none { fill: none; } .typed { font-weight: bold; }
  .prompt { fill: #0969da; font-weight: bold; }
  @media (prefers-color-scheme: dark) { .gone { stroke: #444c56; } .prompt { fill: #6cb6ff; } }
"""
_FONT_FACE = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


# ---- screens ---------------------------------------------------------------------------
def screens() -> None:
    """Every screenshot in the light and the dark theme; the README's are the dark ones."""
    with tempfile.TemporaryDirectory() as folder:
        for name in SHOTS:
            for theme in THEMES:
                made = asyncio.run(shoot(name, Path(folder), theme))
                svg = local_fonts(made.read_text(encoding="utf-8"))
                _written(FOLDER / f"{name.removeprefix('screenshot-')}-{theme}.svg", svg)
                if theme == "dark":
                    _written(ROOT / "docs" / f"{name}.svg", svg)


def local_fonts(svg: str) -> str:
    """A picture without fonts of other servers: the reader's own fixed-width font."""
    return _FONT_FACE.sub("", svg).replace(
        "font-family: Fira Code, monospace", "font-family: ui-monospace, Consolas, monospace"
    )


# ---- stories ---------------------------------------------------------------------------
def gallery() -> None:
    """A drawing of each story's picture (`sessions/NAME/picture.txt`)."""
    for name, cubin in stories().items():
        text = (cubin.parent / PICTURE).read_text(encoding="utf-8")
        _written(FOLDER / f"story-{name}.svg", story(name, text.splitlines()).svg())


def story(name: str, lines: list[str]) -> Drawing:
    """Lanes as cells, a surface as grey ones, the rest as text."""
    heights = [16 if _is_shade(line) else 24 for line in lines]
    d = Drawing(f"{name}: where it is most telling", 640, sum(heights) + 18)
    d.parts.append(f"<style>{MORE_STYLE}</style>")
    y = 10.0
    for number, (line, height) in enumerate(zip(lines, heights, strict=True)):
        lanes = re.match(r"warp (\d+) +(?=.{32}  )(.{32})  (\S+) +(.*)", line)
        if _is_shade(line):
            for column, mark in enumerate(line):
                grey = 40 + 50 * SHADES.index(mark)
                place = f'x="{20 + column * 12}" y="{y}" width="12" height="16"'
                d.parts.append(f'<rect {place} fill="rgb({grey},{grey},{grey})"/>')
        elif lanes:
            d.text(14, y + 14, f"warp {lanes[1]}")
            for lane, mark in enumerate(lanes[2]):
                d.box(76 + lane * 10, y + 2, 8, 15, MARKS.get(mark, "c1"), 1)
            d.text(404, y + 14, f"{lanes[3]}  {lanes[4]}"[:36], "note")
        else:
            d.text(14, y + 14, line[:92] if number else line[:88], "head" if number == 0 else "")
        y += height
    return d


def _is_shade(line: str) -> bool:
    return len(line) > 40 and set(line) <= set(SHADES)


# ---- sessions --------------------------------------------------------------------------
ANIMATIONS = {"first-fault": "tutorials/first-fault", "who-wrote": "tutorials/who-wrote"}
"""Name of an animation -> the page whose commands it plays."""
SHOWN_LINES = 22
COLUMNS = 100
LINE = 16


def animations() -> None:
    """A session as it is typed and answered, played anew from a tutorial's commands."""
    for name, page in ANIMATIONS.items():
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            played = list(_played(text))
        _written(FOLDER / f"session-{name}.svg", animated(played[:90]))


def _played(text: str) -> Iterator[str]:
    player = Player()
    for match in ANY.finditer(text):
        if match["body"] is not None:
            yield from player.play(match["body"]).splitlines()
            yield ""
        elif match["content"] is not None:
            Path(match["file"]).write_text(match["content"], encoding="utf-8")


def animated(lines: list[str]) -> str:
    """Lines that appear one after the other, the window following; it plays once.

    Who asks for less motion sees the end.
    """
    at, times = 0.4, []
    for line in lines:
        typed = line.startswith(("$ ", "gpudbg> "))
        at += 1.6 if typed else 0.12
        times.append(at)
    total = times[-1] + 1
    height = SHOWN_LINES * LINE + 20
    scroll, drawn = ["0% { transform: translateY(0); }"], []
    for number, (line, time) in enumerate(zip(lines, times, strict=True)):
        over = max(0, number + 1 - SHOWN_LINES)
        if over:
            percent = 100 * time / total
            scroll.append(f"{percent:.2f}% {{ transform: translateY(-{over * LINE}px); }}")
        drawn.append(_line(line, number, time))
    end = max(0, len(lines) - SHOWN_LINES) * LINE
    style = f"""{STYLE}{MORE_STYLE}
  @keyframes appear {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
  @keyframes scroll {{ {" ".join(scroll)} 100% {{ transform: translateY(-{end}px); }} }}
  .l {{ animation: appear 0.01s both; }}
  #all {{ animation: scroll {total:.1f}s step-end both; }}
  @media (prefers-reduced-motion: reduce) {{
    .l {{ animation: none; }} #all {{ animation: none; transform: translateY(-{end}px); }}
  }}
"""
    width = COLUMNS * 7.3 + 24
    body = "\n".join(drawn)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" \
width="{width:g}" height="{height}" role="img">
<title>A session as it is typed</title><style>{style}</style>
<rect class="paper" width="{width:g}" height="{height}" rx="6"/>
<svg x="0" y="8" width="{width:g}" height="{height - 16}"><g id="all">
{body}
</g></svg></svg>
"""


def _line(line: str, number: int, time: float) -> str:
    prompt = re.match(r"(\$ |gpudbg> )(.*)", line)
    text = line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"
    inner = escape(text).replace("  ", "\u00a0\u00a0")
    if prompt:
        typed = escape(text[len(prompt[1]) :])
        inner = f'<tspan class="prompt">{prompt[1]}</tspan><tspan class="typed">{typed}</tspan>'
        time -= 0.8
    return (
        f'<text class="l" xml:space="preserve" x="12" y="{number * LINE + 14}" '
        f'style="animation-delay:{time:.2f}s">{inner}</text>'
    )


def _written(file: Path, text: str) -> None:
    """Write a file where its text has changed."""
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def write() -> None:
    """All of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    gallery()
    animations()
    screens()


if __name__ == "__main__":
    pass
    write()
