"""Two tiers of tests: `make test` has a representative of each class, `make test-all` has all.

What is in the second tier alone is redundant: one kernel on each architecture and engine, a story
on each size of screen, the rest of a long row of random cases.  There is one mechanism, and a run
says at its end how much it left out:

* `in_turn(variants, what)`, where a list of cases is made: one variant of each thing.
* `some(thing, cases, most)`: of a long row, at equal distances.
* `@pytest.mark.in_turn(count, each="kind")` on a parametrized test: `count` of its parameter sets,
  or `count` for each value of its parameter `kind`; `in_turn(take="a b")`: those of these ids,
  where some cost a multiple of others.
* `@pytest.mark.full(instead="test_b")`: the test is in the second tier; `test_b` stands for it.
* `number(few, many)`: how often a loop goes round.
* `@rows("name", values)` in place of `@pytest.mark.parametrize`: nothing is left out, but in the
  first tier one test goes through all rows and names those that fail, for a test of its own costs
  more than a row of a table.
* hypothesis: at most `EXAMPLES` of each property, the same ones in every run.

What is chosen depends on names alone, so that every run has the same tests.  A test that is named
with `::` on the command line is never left out.
"""

from __future__ import annotations

import functools
import inspect
import os
import reprlib
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")
Test = TypeVar("Test", bound=Callable[..., None])

MOST_TOLD = 10
"""Rows of a table that fail, which are told with what is wrong."""
EXAMPLES = 15
"""Of a hypothesis property in the first tier."""
ASKED = "GPUDBG_ALL_VARIANTS"
"""Set in the environment by `--full`; programs that tests begin read it too."""
MARKERS = (
    "in_turn(count, each=''): as many of the test's parameter sets in `make test`, of each value "
    "of the parameters named in `each` (commas between), or those of the ids in `take`; all of "
    "them in `make test-all`",
    "full(instead): the test runs in `make test-all`; `instead` names the test that stands for it",
)
left: Counter[str] = Counter()
"""What this process left to the second tier, by kind."""


def full() -> bool:
    """Whether this run is `make test-all` or a campaign."""
    return bool(os.environ.get(ASKED))


def number(few: int, many: int) -> int:
    """How many cases a loop has."""
    if full():
        return many
    left["turns of loops"] += many - few
    return few


def in_turn(
    variants: Iterable[T], what: Callable[[T], Hashable], count: int = 1, first: bool = False
) -> list[T]:
    """`count` variants of each thing, beginning at a different one for each; or every one.

    Args:
        variants: of all things, in any order.
        what: the thing that a variant is one of; its text decides where to begin.
        count: of variants of one thing.
        first: begin at the first one of each.
    """
    things: dict[Hashable, list[T]] = {}
    for variant in variants:
        things.setdefault(what(variant), []).append(variant)
    if full():
        return [variant for found in things.values() for variant in found]
    left["builds and cases"] += sum(max(0, len(found) - count) for found in things.values())
    if first:
        return [variant for found in things.values() for variant in found[:count]]
    return [variant for thing, found in things.items() for variant in _some(thing, found, count)]


def rows(
    names: str | Sequence[str], values: Iterable[Any], ids: Any = None
) -> Callable[[Test], Test]:
    """Parametrize a test; in the first tier one test goes through all rows.

    Args:
        names: of parameters, as `pytest.mark.parametrize` takes them.
        values: a row each; a tuple for several names.
        ids: what a row is called in the second tier.
    """
    keys = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    listed = list(values)

    def made(test: Test) -> Test:
        if full():
            return cast(Test, pytest.mark.parametrize(names, listed, ids=ids)(test))
        signature = inspect.signature(test)

        @functools.wraps(test)
        def together(**fixtures: Any) -> None:
            failed = []
            for row in map(_plain, listed):
                given = dict(zip(keys, row if len(keys) > 1 else (row,), strict=True))
                try:
                    test(**fixtures, **given)
                except Exception as error:
                    failed.append((given, error))
            if failed:
                told = "\n".join(
                    f"{reprlib.repr(given)}: {error}" for given, error in failed[:MOST_TOLD]
                )
                raise AssertionError(f"{len(failed)} of {len(listed)} rows:\n{told}") from failed[
                    0
                ][1]

        left_over = [p for name, p in signature.parameters.items() if name not in keys]
        vars(together)["__signature__"] = signature.replace(parameters=left_over)
        return cast(Test, together)

    return made


def _plain(row: Any) -> Any:
    """A row's values, without the name that `pytest.param` gives it."""
    if not isinstance(row, ParameterSet):
        return row
    assert not row.marks, "a row of a table has no marks"
    return row.values if len(row.values) > 1 else row.values[0]


def some(thing: Hashable, found: Sequence[T], most: int) -> list[T]:
    """At most that many of them, at equal distances; or every one."""
    if full() or len(found) <= most:
        return list(found)
    left["builds and cases"] += len(found) - most
    return _some(thing, found, most)


def _some(thing: Hashable, found: Sequence[T], count: int) -> list[T]:
    """`count` of them, at equal distances, in their order."""
    start = zlib.crc32(str(thing).encode())
    places = {(start + n * len(found) // count) % len(found) for n in range(count)}
    return [found[place] for place in sorted(places)]


def choose(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """(Tests of the first tier, the others), both in their order."""
    groups: dict[tuple[str, ...], list[pytest.Item]] = {}
    dropped: set[pytest.Item] = set()
    for item in items:
        marker = item.get_closest_marker("in_turn")
        if item.get_closest_marker("full"):
            dropped.add(item)
        elif marker is not None and "take" in marker.kwargs:
            if item.nodeid.partition("[")[2].rstrip("]") not in marker.kwargs["take"].split():
                dropped.add(item)
        elif marker is not None:
            groups.setdefault(_group(item, marker.kwargs.get("each", "")), []).append(item)
    for group, found in groups.items():
        marker = found[0].get_closest_marker("in_turn")
        assert marker is not None
        count = min(marker.args[0], len(found))
        found.sort(key=lambda item: item.nodeid)
        dropped.update(set(found).difference(_some("/".join(group), found, count)))
    left["tests"] += len(dropped)
    return [i for i in items if i not in dropped], [i for i in items if i in dropped]


def _group(item: pytest.Item, each: str) -> tuple[str, ...]:
    """The parameter sets that stand for one another."""
    params = vars(item)["callspec"].params if hasattr(item, "callspec") else {}
    values = [str(params[name]) for name in each.replace(" ", "").split(",") if name]
    return (item.nodeid.partition("[")[0], *values)
