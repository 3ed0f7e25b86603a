"""Reference: the launch table, arguments, and the JSON of every answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from gpudbg.debug.views import schema
from gpudbg.formats import initdata, launch_machine, launch_toml
from gpudbg.formats.launch import IMAGE_DIMS, IMAGE_KINDS, IMAGE_OPTIONS
from gpudbg.manual.markdown import anchor, code, fence, label, plain, section, table
from gpudbg.manual.reference.command_line import flags_table
from gpudbg.options import OPTIONS, keys

SHARED = frozenset(schema()["$defs"]) - {"commands", "verbs"}
"""Parts of the schema that several answers have."""


def launch_table() -> str:
    """The page on launch tables."""
    example = _indented(launch_toml.__doc__ or "")
    machine = (launch_machine.__doc__ or "").partition("\n\n")[2]
    rules = [line for line in (initdata.__doc__ or "").splitlines() if line.startswith("|")]
    top = [row for row in OPTIONS if row.table == ""]
    parts = [
        "A launch is a table: `PROG.toml` beside the program, or flags laid over it, or keyword "
        "arguments in Python, all with the same words. `gpudbg info PROG --launch` prints one to "
        "fill in. Every mistake is one line that names the file and, where it can be found, the "
        "line.\n",
        fence(example, "toml"),
        section(2, "Top level"),
        flags_table(("key", "flag", "values", "what"), top, "key"),
        section(2, "Buffers, symbols and what they hold"),
        "`type` is one of " + ", ".join(map(code, initdata.DTYPES)) + ". `count` elements, or a "
        "`shape`; `file` takes type and count from an `.npy` file. `init` is a rule:\n",
        "\n".join(rules) + "\n",
        section(2, "Images", "`[images.NAME]`: textures and surfaces.\n"),
        table(
            ("key", "values"),
            [
                [code("kind"), " ".join(map(code, IMAGE_KINDS))],
                [code("dim"), " ".join(map(code, IMAGE_DIMS))],
                *([code(name), _kind(kind)] for name, kind in IMAGE_OPTIONS.items()),
            ],
        ),
        section(2, "The machine", "`[sm]`: the emulated GPU.\n"),
        flags_table(("key", "flag", "values", "default", "what"), keys("sm").values(), "key"),
        section(2, "Raw instruction words", "`[raw]`: what such a file does not say itself.\n"),
        flags_table(("key", "values", "what"), keys("raw").values(), "key"),
        section(2, "Trap handler and special registers"),
        fence(machine.strip().splitlines(), "toml"),
    ]
    return "\n".join(parts)


def _indented(text: str) -> Iterator[str]:
    """The lines of a docstring's block."""
    lines = [line for line in text.splitlines() if line.startswith("    ") or not line]
    body = "\n".join(line[4:] for line in lines).strip("\n")
    return iter(re.sub(r"\n{3,}", "\n\n", body).splitlines())


def _kind(kind: type | tuple[str, ...]) -> str:
    if isinstance(kind, tuple):
        return " ".join(map(code, kind))
    return {int: "a whole number", bool: "`true` or `false`", float: "a number", str: "a text"}[
        kind
    ]


def json_answers() -> str:
    """The page on JSON."""
    whole = schema()
    defs: Mapping[str, Any] = whole["$defs"]
    parts = [
        plain(str(whole["description"])) + "\n",
        "`gpudbg info schema` prints the whole as a JSON Schema (draft 2020-12), against which a "
        "program can check. What stands here is that schema, in tables; `[]` is each element of a "
        "list, `{}` each value of an object whose keys are names.\n",
        section(2, "A record of `gpudbg --batch --json`"),
        _members(whole),
        section(2, "Shared parts"),
    ]
    for name, part in defs.items():
        if name in SHARED:
            parts += [label("json", name), section(3, code(name)), _described(part)]
    parts += [section(2, "Answers of verbs"), _each(defs["verbs"], "json-verb", "gpudbg ")]
    parts += [section(2, "Answers of commands"), _each(defs["commands"], "json-command", "")]
    return "\n".join(parts)


def _each(found: Mapping[str, Any], prefix: str, before: str) -> str:
    parts = []
    for name, part in found.items():
        parts += [label(prefix, name), section(3, code(before + name)), _described(part)]
    return "\n".join(parts)


def _described(part: Mapping[str, Any]) -> str:
    head = _sentence(str(part.get("description", "")))
    if "$ref" in part:
        return f"{head} {_type(part)}\n".lstrip()
    rows = list(_rows(part, ""))
    if not rows:
        return f"{head} {_type(part).capitalize()}.\n".lstrip()
    return f"{head}\n\n{_table(rows)}".lstrip()


def _sentence(text: str) -> str:
    words = plain(text)
    return words[:1].upper() + words[1:] + ("." if words and words[-1] not in ".;" else "")


def _members(part: Mapping[str, Any]) -> str:
    return _table(list(_rows(part, "")))


def _table(rows: list[tuple[str, str, str]]) -> str:
    return table(("key", "type", "what"), rows)


def _rows(part: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Members of an object, of those in it, and of elements of lists."""
    if isinstance(part.get("items"), Mapping):
        yield from _rows(part["items"], f"{path}[]")
    if isinstance(part.get("additionalProperties"), Mapping):
        yield from _rows(part["additionalProperties"], f"{path}{{}}")
    required = part.get("required", ())
    for key, member in (part.get("properties") or {}).items():
        name = f"{path}.{key}".lstrip(".")
        always = "" if key in required else " (may be missing)"
        yield code(name), _type(member) + always, plain(str(member.get("description", "")))
        yield from _rows(member, name)


def _type(part: Mapping[str, Any]) -> str:
    if "$ref" in part:
        name = unquote(str(part["$ref"]).rpartition("/")[2])
        return (
            f"[a {name}](#{anchor('json', name)})"
            if name in SHARED
            else f"as [`{name}`](#{anchor('json-command', name)})"
        )
    if "const" in part:
        return code(part["const"])
    if "enum" in part:
        return " ".join(map(code, part["enum"]))
    for word in ("anyOf", "oneOf"):
        if word in part:
            return " or ".join(dict.fromkeys(_type(p) for p in part[word]))
    kinds = part.get("type", "anything")
    words = [kinds] if isinstance(kinds, str) else list(kinds)
    if words == ["array"] and isinstance(part.get("items"), Mapping):
        return f"array of {_type(part['items'])}"
    return " or ".join(words)
