"""Write the published JSON schema: python -m tests.sessions.json_schema

Types, required keys and alternatives are inferred from `json_samples`.  Keys may be added in
later versions, so objects are open; what is required and the types of what is there are the
promise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import quote

import gpudbg
from gpudbg import cli
from gpudbg.debug.commands.families import load
from gpudbg.debug.stops.stop import Stop
from gpudbg.debug.story_files import sessions_folder, stories
from gpudbg.debug.views.json_text import plain
from gpudbg.frontends.console.console import Console
from tests.sessions.json_samples import (
    BY_HAND,
    ITEMS,
    LISTS,
    LOOKS,
    ROWS,
    SHARED,
    STATES,
    STOP_OR_ROWS,
    VERBS,
)
from tests.sessions.json_words import MAP_COMMANDS, MAP_KEYS, NULLABLE, WORDS

TARGET = Path(gpudbg.__file__).parent / "debug/schema.json"
KERNELS = str(Path(__file__).parents[1] / "kernels_own/cubin")
LOGS = (
    "NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception on (GPC 0, TPC 1): Out Of Range",
    "Graphics Exception: ESR 0x5167b0=0x9 0x5167b4=0x24 0x5167a8=0x4c1eb72 0x5167ac=0x174",
    "NVRM: Xid (PCI:0000:01:00): 31, pid=7, name=a.out, Ch 00000008, intr 00000000. MMU Fault: "
    "ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7fcf_5b400000. Fault is of type FAULT_PDE "
    "ACCESS_TYPE_VIRT_READ",
)
DECODE, EACH = "decode", ": a document for each value"
MAX_KEYS = 40
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
FREE = frozenset("R0 P0 out in x 0 SR0".split())
"""Keys that show that an object maps names of the program to values."""


def answers() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(command's full name, line, record) of every sample."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "commands").write_text("stepi\n")
        for name, lines in (*ROWS, *((name, (*lead, *LOOKS)) for name, lead in STATES)):
            session = gpudbg.open(stories()[name])
            for line in lines:
                out = io.StringIO()
                console = Console(session, out, io.StringIO(), as_json=True)
                console.execute(line.replace("{tmp}", folder))
                for row in map(json.loads, out.getvalue().splitlines()):
                    yield row.get("name", ""), line, row


def outputs() -> Iterator[tuple[str, Any]]:
    """(verb, JSON) of every sample of a verb."""
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(LOGS):
            (Path(folder) / f"log{number}").write_text(line + "\n")
        for verb, lines in VERBS.items():
            for words in lines:
                yield verb, json.loads(_output(words, folder))


def _output(words: tuple[str, ...], folder: str) -> str:
    out = io.StringIO()
    root = str(sessions_folder())
    here = [
        w.replace("{sessions}", root).replace("{tmp}", folder).replace("{kernels}", KERNELS)
        for w in words
    ]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        cli.main(here)
    return out.getvalue()


# ---- inference -------------------------------------------------------------------------
def shape(samples: list[Any], key: str = "") -> dict[str, Any]:
    """The narrowest schema, up to open objects, that all samples of a key fit."""
    kinds: dict[str, list[Any]] = {}
    for sample in samples:
        kinds.setdefault(_kind(sample), []).append(sample)
    if "number" in kinds:
        kinds["number"] += kinds.pop("integer", [])
    if key in NULLABLE:
        kinds.setdefault("null", [])
    parts = [_part(kind, found, key) for kind, found in sorted(kinds.items())]
    if len(parts) == 1:
        return parts[0]
    if all(set(p) == {"type"} for p in parts):
        return {"type": [p["type"] for p in parts]}
    return {"anyOf": parts}


def _kind(sample: Any) -> str:
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
    return names.get(type(sample), "array" if isinstance(sample, list) else "object")


def _part(kind: str, samples: list[Any], key: str) -> dict[str, Any]:
    if kind == "array":
        items = [item for sample in samples for item in sample]
        items = items or ITEMS.get(key, [])
        return {"type": "array", "items": shape(items, key)} if items else {"type": "array"}
    if kind != "object":
        return {"type": kind}
    keys = sorted({key for sample in samples for key in sample})
    values = {key: [s[key] for s in samples if key in s] for key in keys}
    by_arch = bool(keys) and all(key.startswith("sm_") for key in keys)
    if key in MAP_KEYS or len(keys) > MAX_KEYS or FREE & set(keys) or by_arch or not all(samples):
        flat = [v for found in values.values() for v in found]
        return {"type": "object", "additionalProperties": shape(flat, key) if flat else True}
    required = [key for key in keys if all(key in s for s in samples)]
    found: dict[str, Any] = {
        "type": "object",
        # Nothing is known of what was never there.
        "properties": {key: _property(key, values[key]) for key in keys},
    }
    return {**found, "required": required} if required else found


def _property(key: str, samples: list[Any]) -> dict[str, Any]:
    """What a key holds, and what it means."""
    words = {"description": WORDS[key]} if key in WORDS else {}
    if key == "stop":
        return {"$ref": "#/$defs/stop", **words}
    return words if all(v is None for v in samples) else {**words, **shape(samples, key)}


def declared(kind: Any) -> dict[str, Any]:
    """The schema of a type: a frozen record with annotations, and what those are made of."""
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        names = [f.name for f in dataclasses.fields(kind)]
        properties = {
            name: {"description": WORDS.get(name, ""), **declared(hints[name])} for name in names
        }
        return {"type": "object", "properties": properties, "required": names}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return {"anyOf": [declared(a) for a in arguments]}
    if origin is tuple:
        return {"type": "array", "items": declared(arguments[0])}
    return {"type": PLAIN[kind]}


# ---- the document ----------------------------------------------------------------------
RECORD = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "the line as it was given"},
        "name": {
            "type": "string",
            "description": "the command's full name, unless the line is none; says what `data` is",
        },
        "ok": {"type": "boolean"},
        "data": {"description": "on success: `$defs/commands/NAME`"},
        "output": {"type": "string", "description": "what device code printed meanwhile"},
        "error": {"type": "string", "description": "on failure: one line"},
    },
    "required": ["command", "ok"],
    "if": {"properties": {"ok": {"const": True}}},
    "then": {"required": ["data"]},
    "else": {"required": ["error"]},
}


def document() -> dict[str, Any]:
    """The whole schema."""
    commands: dict[str, list[Any]] = {}
    for name, _, record in answers():
        if record["ok"] and name:
            commands.setdefault(name, []).append(record["data"])
    verbs: dict[str, list[Any]] = {}
    for verb, data in outputs():
        verbs.setdefault(verb, []).append(data)
    helps = {c.name: c.help for c in load().commands}
    owner = {name: shared for shared, names in SHARED.items() for name in names}
    common = {shared: shape(_shared(shared, commands)) for shared in SHARED}
    common["stop"] = declared(Stop)
    common["finding"] = shape(ITEMS["findings"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpudbg --json",
        "description": "A record is one line of `gpudbg --batch --json`; this schema holds for it "
        "with the data of every command. `$defs/verbs` has the output of `gpudbg VERB --json`. "
        "Objects may gain keys; keys that are required stay, and types stay. NaN and infinities "
        "are strings.",
        **RECORD,
        "allOf": [
            {
                "if": {
                    "properties": {"name": {"const": name}, "ok": {"const": True}},
                    "required": ["name"],
                },
                "then": {"properties": {"data": {"$ref": f"#/$defs/commands/{quote(name)}"}}},
            }
            for name in sorted(commands)
        ],
        "$defs": {
            "commands": {
                name: {"description": helps[name], **_data(name, commands.get(name, []), owner)}
                for name in sorted({*commands, *BY_HAND})
            },
            **common,
            "verbs": {
                verb: {
                    "description": f"gpudbg {verb} --json{EACH * verb.startswith(DECODE)}",
                    **shape(verbs[verb]),
                }
                for verb in sorted(verbs)
            },
        },
    }


def _shared(kind: str, commands: dict[str, list[Any]]) -> list[Any]:
    """All samples of data that several commands have in common."""
    lists = [name for name, of in LISTS.items() if of == kind]
    found = [data for name in SHARED[kind] for data in commands[name]]
    return found + [row for name in lists for rows in commands[name] for row in rows]


def _data(name: str, samples: list[Any], owner: dict[str, str]) -> dict[str, Any]:
    if name in owner:
        return {"$ref": f"#/$defs/{owner[name]}"}
    if name in STOP_OR_ROWS:
        rows = shape([sample for sample in samples if isinstance(sample, list)])
        return {"anyOf": [{"$ref": "#/$defs/stop"}, rows]}
    if name in BY_HAND:
        return BY_HAND[name]
    if name in MAP_COMMANDS:
        values = [v for sample in samples if isinstance(sample, dict) for v in sample.values()]
        return {"type": "object", "additionalProperties": shape(values)}
    if load().resolve(name)[0].group == "plugins":
        return {"description": "a plugin's command: its data is the plugin's own"}
    if name in LISTS:
        return {"type": "array", "items": {"$ref": f"#/$defs/{LISTS[name]}"}}
    return shape(samples)


def main() -> int:
    found = plain(document())
    TARGET.write_text(json.dumps(found, indent=1) + "\n")
    missing = sorted({c.name for c in load().commands} - set(found["$defs"]["commands"]))
    print(f"{TARGET}: {TARGET.stat().st_size} bytes; without a sample: {missing or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
