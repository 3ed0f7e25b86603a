"""Damaged recordings: bytes changed anywhere, and values changed with all hashes made right."""

from __future__ import annotations

import dataclasses
import json
import random
import signal
from typing import Any

import gpudbg
from gpudbg.api.recordings import resume
from gpudbg.errors import LoadError
from gpudbg.formats.recording import Recording, decode, encode

SECONDS = 30
"""A mutant that takes longer hangs."""
_NUMBERS = (0, 1, -1, 2, 255, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63, 1 << 70)


def with_bytes_changed(data: bytes, draw: random.Random) -> bytes:
    """One to four bytes changed, or the end cut off."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        out[draw.randrange(len(out))] = draw.randrange(256)
    return bytes(out[: draw.randrange(len(out))]) if draw.random() < 0.2 else bytes(out)


def with_values_changed(data: bytes, draw: random.Random) -> bytes:
    """One to three values of the launch, or a section, changed; the hashes fit."""
    made = decode(data, "mutant")
    tree = json.loads(json.dumps(dataclasses.asdict(made.launch)))
    sections = dict(made.sections)
    for _ in range(draw.randint(1, 3)):
        if draw.random() < 0.15 and sections:
            name = draw.choice(sorted(sections))
            sections[name] = with_bytes_changed(sections[name] or b"\0", draw)
        else:
            _change(tree, draw)
    raw: Any = dataclasses.make_dataclass("RawLaunch", tree)(**tree)
    return encode(Recording(raw, sections))


def _change(tree: Any, draw: random.Random) -> None:
    """Change a value somewhere in a JSON tree."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = draw.choice(keys)
        if isinstance(tree[key], dict | list) and tree[key] and draw.random() < 0.9:
            tree = tree[key]
            continue
        tree[key] = _other(tree[key], draw)
        return


def _other(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice([*_NUMBERS, value + 1, value - 1])
    if isinstance(value, str):
        return draw.choice(["", "run", "step_all", "x", "f32", value[:-1], value + "0"])
    return draw.choice([None, [], {}, 0, ""])


class TooLongError(Exception):
    """A mutant has taken more than `SECONDS` of the processor."""


def outcome(data: bytes, number: int, seed: int, right: str = "") -> str:
    """ "" where a mutant is refused, or opens; else what went wrong.

    Args:
        right: the state hash of the recording; a mutant whose hashes were not made right is
            refused, or comes to that.
    """
    draw = random.Random(seed * 1_000_003 + number)
    forged = number % 2 == 0
    change = with_values_changed if forged else with_bytes_changed
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with resume(decode(change(data, draw), "mutant")) as session:
            if right and not forged and session.state_hash() != right:
                return f"mutant {number}, seed {seed}: opens in another state"
    except (LoadError, gpudbg.UsageError):
        return ""
    except Exception as error:
        return f"mutant {number}, seed {seed}: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return ""


def _too_long(number: int, frame: Any) -> None:
    raise TooLongError(f"more than {SECONDS} s")
