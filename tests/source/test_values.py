"""Every question of the samples, on builds of two families."""

from __future__ import annotations

import pytest

from tests.source.cases import ARCHS, SAMPLES, document, reach, wrong

CASES = [
    *((sample, arch) for sample in SAMPLES for arch in ARCHS),
    ("inline_levels", "sm_90"),
    ("nested_struct", "sm_120"),
]
"""From sm_90 on the addends of relocations alone say where things are in the code; code of sm_120
moves pairs of registers at once."""

BEYOND = ("constants", "print table[t]")
"""Reads behind an array: what lies there is not the host's."""


@pytest.mark.in_turn(
    take="closures-sm_80 references-sm_80 bases-sm_52 recursion_depth-sm_52 inline_levels-sm_90 "
    "nested_struct-sm_120"
)
@pytest.mark.parametrize(("sample", "arch"), CASES)
def test_values(sample: str, arch: str) -> None:
    found = []
    for point in document(sample)["points"]:
        with reach(sample, arch, point) as session:
            for asked in point["values"]:
                if asked.get("lineinfo") or _beyond(sample, asked["ask"], point):
                    continue
                if trouble := wrong(session, asked):
                    found.append(f"line {point['line']}, arrival {point['hit']}: {trouble}")
    assert not found, "\n".join(found)


def _beyond(sample: str, asked: str, point: dict[str, object]) -> bool:
    return (sample, asked) == BEYOND and point["thread"] == [13, 0, 0]
