"""`gpudbg decode const`, `global`, `regs`, `cflags` and `method`."""

from __future__ import annotations

import struct
from typing import Any

from gpudbg.errors import ModelGap, UsageError
from gpudbg.plugin import Arguments, Decoded, Option, decoder, one_of, parse_int, unsigned

from . import flags as flags_model
from .constbuf import PROGRAMS, ConstBuffer
from .errors import DataError
from .flags import FLAG_NAMES
from .globalmem import GlobalSpace
from .methods import BY_OFFSET, Method, resolve
from .registers import ThreadRegisters, parse

_OBJECT = Option("--object", one_of("tesla", "turing"), "turing", "object the method is of")
_CONST_WORDS = ("CB_ADDR", "CB_DEF_SET", "SET_PROGRAM_CB")


@decoder(
    usage="[OBJECT.]CB_ADDR|CB_DEF_SET|SET_PROGRAM_CB|NUMBER VALUE",
    options=(_OBJECT,),
    words=(2, 2),
)
def const(args: Arguments) -> Decoded:
    """A const-buffer method's value by field."""
    obj, offset = resolve(args.words[0], args["object"])
    row, index = BY_OFFSET[obj].get(offset, (None, 0))
    if row is None or row.name not in _CONST_WORDS:
        raise UsageError(f"'{args.words[0]}' is none of {', '.join(_CONST_WORDS)}")
    name = row.name
    data = _method_json(obj, row, index, parse_int(args.words[1], name, 32))
    fields = data["fields"]
    if name == "CB_ADDR":
        data |= {"buffer": fields["buffer"], "byte_offset": fields["word offset"] * 4}
        text = f"uploads go to buffer {data['buffer']} from byte 0x{data['byte_offset']:x}"
    elif name == "CB_DEF_SET":
        size = None if data["error"] else ConstBuffer.size_of(fields["size"])
        data |= {"buffer": fields["buffer"], "size": size}
        text = f"buffer {data['buffer']}, {size} bytes"
    else:
        data |= {"buffer": fields["buffer"], "space": fields["space"]}
        program = _program(obj, fields["program"], data)
        data["program"] = program
        bound = "bound to" if fields["valid"] else "unbound (bit 0 clear) from"
        text = f"{program} c{fields['space']}[] {bound} buffer {fields['buffer']}"
    return _method_result(data, text)


def _program(obj: str, code: int, data: dict[str, Any]) -> str | None:
    if obj == "turing":
        return "CP"
    if code not in PROGRAMS and data["error"] is None:
        error = DataError("INVALID_ENUM", f"program type {code}: 0 VP, 2 GP, 3 FP")
        data["error"] = {"code": error.code, "name": error.name, "why": error.why}
    return PROGRAMS.get(code)


def _method_json(obj: str, row: Method, index: int, value: int) -> dict[str, Any]:
    error: dict[str, Any] | None = None
    try:
        row.validate(obj, value)
    except DataError as raised:
        error = {"code": raised.code, "name": raised.name, "why": raised.why}
    start = row.offset(obj)
    if start is None:
        raise UsageError(f"the {obj} object has no method {row.name}")
    offset = start + index * row.stride
    return {
        "object": obj,
        "offset": offset,
        "offset_hex": f"0x{offset:04x}",
        "method": row.label(index),
        "value": value,
        "value_hex": f"0x{value:08x}",
        "fields": {field.name or "value": field.bits.get(value) for field in row.fields},
        "error": error,
    }


def _method_result(data: dict[str, Any], text: str) -> Decoded:
    head = f"{data['object']}.{data['method']} (0x{data['offset']:04x}) = {data['value_hex']}: "
    error = data["error"]
    if error is None:
        return Decoded(data, [head + text])
    line = f"DATA_ERROR 0x{error['code']:02x} {error['name']}: {error['why']}"
    return Decoded(data, [head + line], UsageError.exit_code)


@decoder(usage="[OBJECT.]METHOD VALUE", options=(_OBJECT,), words=(2, 2))
def method(args: Arguments) -> Decoded:
    """Any method write by field, and whether the object accepts it."""
    obj, offset = resolve(args.words[0].replace("\u00d7", "x"), args["object"])
    found = BY_OFFSET[obj].get(offset)
    if found is None:
        raise ModelGap(f"method 0x{offset:04x} of the {obj} object is not in the model")
    row, index = found
    value = parse_int(args.words[1], "value", 32)
    return _method_result(_method_json(obj, row, index, value), row.describe(value))


@decoder(
    usage="REG [--base N] [--pitch N] [--limit N] [--mode N] | --address N ...",
    options=(
        Option("--base", unsigned(40), 0, "GLOBAL_BASE"),
        Option("--pitch", unsigned(32), 0x100, "GLOBAL_PITCH, for a 2D surface"),
        Option("--limit", unsigned(32), 0xFFFFFFFF, "GLOBAL_LIMIT"),
        Option("--mode", unsigned(32), 1, "GLOBAL_MODE: bit 0 linear, bits 11:8 tile mode"),
        Option("--address", unsigned(41), None, "find the g[] address of a memory address"),
    ),
    words=(0, 1),
)
def global_address(args: Arguments) -> Decoded:
    """Where a g[] reference goes, or which reference goes to an address."""
    space = GlobalSpace(args["base"], args["pitch"], args["limit"], args["mode"])
    space.check()
    if bool(args.words) == (args["address"] is not None):
        raise UsageError("give either a g[] address or --address")
    if args.words:
        reg = parse_int(args.words[0], "g[] address", 32)
    else:
        reg = space.reg_of(args["address"])
    access = space.access(reg)
    notes = space.notes() if "limit" in args.given else []
    data = space.to_json() | access.to_json() | {"notes": notes}
    place = "" if access.x is None else f" (x 0x{access.x:x}, y {access.y})"
    bounds = ", out of bounds" if access.out_of_bounds else ""
    lines = [
        f"g[0x{reg:08x}]{place} is at base + 0x{access.offset:x} = 0x{access.address:010x}{bounds}"
    ]
    return Decoded(data, lines + [f"note: {note}" for note in notes])


@decoder(
    usage="NAME | NAME=VALUE ...",
    options=(
        Option("--alloc", unsigned(8), 128, "allocated $r registers"),
        Option("--outputs", unsigned(8), 0, "allocated $o registers"),
        Option("--program", one_of("VP", "GP", "FP", "CP"), "CP", "program type"),
        Option("--physid", unsigned(32), 0, "value of $physid"),
    ),
    words=(1, None),
)
def regs(args: Arguments) -> Decoded:
    """Write and read register views of one thread, in order."""
    held = ThreadRegisters(
        args["alloc"], args["outputs"], args["program"], {"physid": args["physid"]}
    )
    steps: list[dict[str, Any]] = []
    lines = []
    for word in args.words:
        name, equals, value_text = word.partition("=")
        view = parse(name)
        if equals:
            value = parse_int(value_text, view.name, view.bits)
            held.write(name, value)
        else:
            value = held.read(name)
        note = held.note(name)
        digits = -(-view.bits // 4)
        steps.append(
            {
                "name": view.name,
                "op": "write" if equals else "read",
                "bits": view.bits,
                "value": value,
                "value_hex": f"0x{value:0{digits}x}",
                "note": note,
            }
        )
        tail = f"  ({note})" if note else ""
        arrow = "<-" if equals else "="
        lines.append(f"{view.name} {arrow} 0x{value:0{digits}x}{tail}")
    outputs = {f"$o{i}": word for i, word in enumerate(held.o) if word}
    return Decoded({"registers": held.allocated, "steps": steps, "outputs": outputs}, lines)


@decoder(
    usage="FLAGS | --add A B | --integer RESULT | --float RESULT",
    options=(
        Option("--bits", unsigned(8), 32, "width of an integer result"),
        Option("--add", None, False, "flags of the sum of two integers"),
        Option("--integer", None, False, "flags of an integer result"),
        Option("--float", None, False, "flags of a float result given as its 32-bit word"),
    ),
    words=(1, 2),
)
def cflags(args: Arguments) -> Decoded:
    """The four flags of a $c register and the predicates that hold."""
    modes = [key for key in ("add", "integer", "float") if args[key]]
    if len(modes) > 1:
        raise UsageError("--add, --integer and --float exclude each other")
    if len(args.words) != (2 if modes == ["add"] else 1):
        raise UsageError("--add takes two integers, everything else one value")
    if not 1 <= args["bits"] <= 64:
        raise UsageError(f"--bits {args['bits']} is not 1 to 64")
    data: dict[str, Any] = {}
    if not modes:
        value = parse_int(args.words[0], "flags", 4)
    elif modes == ["float"]:
        word = parse_int(args.words[0], "float word", 32)
        value = flags_model.of_float(struct.unpack("<f", struct.pack("<I", word))[0])
    elif modes == ["integer"]:
        value = flags_model.of_integer(parse_int(args.words[0], "result"), args["bits"])
    else:
        a, b = (parse_int(word, "operand") for word in args.words)
        result, value = flags_model.of_addition(a, b, args["bits"])
        data["result"] = result
    data |= {"flags": value, "names": flags_model.names(value)}
    data |= {long: bool(value & bit) for _, bit, long in FLAG_NAMES}
    data["predicates"] = flags_model.holding(value)
    shown = ", ".join(long for _, bit, long in FLAG_NAMES if value & bit) or "none set"
    lines = [f"flags 0x{value:x}: {shown}", "holding: " + ", ".join(data["predicates"])]
    return Decoded(data, lines)
