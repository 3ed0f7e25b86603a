"""`--json` on every command is what the published schema says."""

from __future__ import annotations

import io
import json
from typing import Any

import jsonschema
import pytest

from gpudbg import cli
from gpudbg.debug.commands.registry import load
from gpudbg.debug.json_text import dumps, plain, schema
from gpudbg.debug.opening import add_launch_flags, open_session
from gpudbg.debug.stories import COMMANDS, stories
from gpudbg.frontends.console.console import Console
from gpudbg.frontends.verbs.common import Parser
from tests.sessions.json_schema import answers, command_name, outputs

SCHEMA = schema()
RECORD = jsonschema.Draft202012Validator(SCHEMA)


def part(group: str, name: str) -> jsonschema.Draft202012Validator:
    path = f"#/$defs/{group}/{name}"
    return jsonschema.Draft202012Validator({"$ref": path, "$defs": SCHEMA["$defs"]})


def check(record: dict[str, Any]) -> None:
    RECORD.validate(record)
    name = command_name(record["command"])
    if record["ok"] and name:
        part("commands", name).validate(record["data"])


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]) >= {"commands", "verbs", "stop", "breakpoint", "focus"}


def test_every_command_is_in_it() -> None:
    """A command that is new needs a line in json_samples, then `-m tests.sessions.json_schema`."""
    assert {c.name for c in load().commands} - set(SCHEMA["$defs"]["commands"]) == set()


def test_every_commands_answer() -> None:
    seen = set()
    for name, _, record in answers():
        check(record)
        if record["ok"]:
            seen.add(name)
    assert {c.name for c in load().commands} - seen == set()


def test_every_verbs_output() -> None:
    seen = set()
    for verb, data in outputs():
        part("verbs", verb).validate(data)
        seen.add(verb)
    assert seen == set(SCHEMA["$defs"]["verbs"])


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
        check({"command": "info warps", "ok": True, "data": 5})
    with pytest.raises(jsonschema.ValidationError):
        check({"command": "x", "ok": False})


def test_info_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
