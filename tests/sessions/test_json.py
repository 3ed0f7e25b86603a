"""`--json` on every command is what the published schema says."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import unquote

import jsonschema
import numpy as np
import pytest

from gpudbg import cli
from gpudbg.api.opening import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.debug.breakpoints.watched import WatchKind
from gpudbg.debug.commands.families import load
from gpudbg.debug.stops.stop import StopKind
from gpudbg.debug.story_files import COMMANDS, stories
from gpudbg.debug.views.json_text import dumps, plain, schema
from gpudbg.frontends.console.console import Console
from gpudbg.frontends.verbs.listing import VERBS
from tests.sessions.json_schema import answers, outputs
from tests.sessions.json_words import WORDS
from tests.variants import full

SCHEMA = schema()
RECORD = jsonschema.Draft202012Validator(SCHEMA)


def part(group: str, name: str) -> jsonschema.Draft202012Validator:
    path = f"#/$defs/{group}/{name}"
    return jsonschema.Draft202012Validator({"$ref": path, "$defs": SCHEMA["$defs"]})


def check(record: dict[str, Any]) -> None:
    """One record against the one schema, as a consumer would."""
    RECORD.validate(record)
    if record["ok"] and record["command"]:
        assert record["name"] in SCHEMA["$defs"]["commands"]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]) >= {"commands", "verbs", "stop", "breakpoint", "focus"}


def properties(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(key, its schema) of every property."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
        for value in schema.values():
            yield from properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from properties(value)


BLOCKS = {"if", "while", "define", "document", "commands", "loop_break", "loop_continue", "eval"}
FILES = {f"{verb} {what}" for verb in ("dump", "append") for what in ("memory", "value", "binary")}
NO_ANSWER = BLOCKS | FILES | {"shell", "make", "pipe", "python", "restore", "save breakpoints"}
NO_ANSWER |= {"return"}
"""Blocks are no lines, `eval` is another one; what runs programs is off; `return`; files."""


def test_every_key_is_explained() -> None:
    """A new key needs a line in json_words."""
    found = list(properties(SCHEMA["$defs"]))
    assert {key for key, schema in found if "description" not in schema} == set()
    assert set(WORDS) - {key for key, _ in found} - {"required"} == set()


def test_nothing_is_enumerated_by_accident() -> None:
    """Alternatives of a value are listed only where a type of the program's own lists them."""
    text = json.dumps(SCHEMA["$defs"])
    assert text.count('"enum"') == text.count(json.dumps(list(get_args(StopKind)))) + text.count(
        json.dumps(list(get_args(WatchKind)))
    )


def test_references_resolve() -> None:
    names = re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(SCHEMA))
    for name in names:
        found = SCHEMA
        for step in name.split("/"):
            found = found[unquote(step)]


def test_every_command_is_in_it() -> None:
    """A command that is new needs a line in json_samples, then `-m tests.sessions.json_schema`."""
    assert {c.name for c in load().commands} - set(SCHEMA["$defs"]["commands"]) == NO_ANSWER


def test_every_commands_answer() -> None:
    seen = set()
    met: Counter[str] = Counter()
    for name, _, record in answers():
        met[name] += 1
        if met[name] == 1 or full():
            check(record)
        if record["ok"]:
            seen.add(name)
    assert {c.name for c in load().commands} - seen == {"source", *NO_ANSWER}


def test_every_verbs_output() -> None:
    seen = set()
    for verb, data in outputs():
        part("verbs", verb).validate(data)
        seen.add(verb)
    assert seen == set(SCHEMA["$defs"]["verbs"])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "name", [n for n, c in stories().items() if (c.parent / COMMANDS).is_file()]
)
def test_stories_as_json(name: str) -> None:
    """What the stories ask was not asked to write the schema."""
    cubin = stories()[name]
    parser = Parser(prog="test")
    add_launch_flags(parser)
    out = io.StringIO()
    console = Console(open_session(cubin, parser.parse_args([])), out, io.StringIO(), as_json=True)
    for line in (cubin.parent / COMMANDS).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            console.execute(line)
    rows = [json.loads(row) for row in out.getvalue().splitlines()]
    assert len(rows) > 3
    for row in rows:
        check(row)


def test_no_nan_and_no_infinity() -> None:
    data = {"a": [float("nan"), float("inf"), 1.5], 3: (b"\xff",), "s": {2, 1}}
    assert json.loads(dumps(data)) == {"a": ["nan", "inf", 1.5], "3": ["ff"], "s": [1, 2]}
    assert plain(None) is None


def test_a_wrong_record_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({"command": "i wa", "name": "info warps", "ok": True, "data": 5})
    with pytest.raises(jsonschema.ValidationError):
        check({"command": "x", "ok": False})


def test_info_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"tui"}))
def test_every_verb_that_speaks_json_is_in_it(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tui --json` is `--batch --json`, whose records are the rest of the schema."""
    with contextlib.suppress(SystemExit):
        cli.main([verb, "--help"])
    speaks = "--json" in capsys.readouterr().out
    assert speaks == any(name.split()[0] == verb for name in SCHEMA["$defs"]["verbs"])


def test_indented_text_is_the_same_data() -> None:
    """A long row of numbers stands in one line; the rest as `json.dumps` indents it."""
    small = {"a": [1, 2.5, None, "x"], "b": {}, "c": [], "d": {"e": [{"f": True}, [[1]]]}, "é": "é"}
    assert dumps(small, 2) == json.dumps(small, indent=2)
    values = np.arange(3000, dtype=np.float32) / 7
    values[7:10] = np.nan, np.inf, -np.inf
    text = dumps({"out": values, "n": values[:7], "rows": [small] * 300}, indent=2)
    read = json.loads(text)
    assert read["out"][6:11] == [values[6].item(), "nan", "inf", "-inf", values[10].item()]
    assert len(read["out"]) == 3000
    assert read["n"] == values[:7].tolist()
    assert read["rows"] == [small] * 300
    assert sum("inf" in line for line in text.splitlines()) == 1
