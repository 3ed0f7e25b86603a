"""`gpudbg tesla`: run a method stream, list methods, list what the model stands on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from gpudbg.errors import (
    EXIT_CLEAN,
    EXIT_FINDINGS,
    GpudbgError,
    ModelGap,
    UsageError,
)
from gpudbg.plugin import Arguments, Option, one_of, parse_arguments

from . import provenance
from .access import TrapError, global_place, local_place, pop, push
from .files import read_file
from .hierarchy import Chip, Hierarchy
from .launch import TeslaLaunch, warp_letter
from .machine import TeslaMachine
from .methods import METHODS
from .options import MACHINE, machine
from .physid import PhysId
from .stream import MAX_BYTES, Statement, parse

SHOWN_THREADS = 1024
SHOWN_BLOCKS = 256
SHOWN_LINES = 32

USAGE = """usage: gpudbg tesla run FILE|- [--json] [--full] [--stop] [--object tesla|turing]
                   [--chipset ID] [--pmc VALUE]
       gpudbg tesla methods
       gpudbg tesla notes
run      a method stream (lines of `method = value`, or pushbuffer words), state after each
methods  the methods the model knows
notes    what each behaviour stands on: documented, inferred or modelled
exit     0 all accepted, 1 a DATA_ERROR or trap, 2 bad input, 4 a method outside the model"""

_RUN = (
    *MACHINE,
    Option("--object", one_of("tesla", "turing"), "turing", "object of methods without prefix"),
    Option("--full", None, False, "show the whole state after each statement"),
    Option("--stop", None, False, "stop at the first DATA_ERROR or trap"),
    Option("--json", None, False, "print JSON"),
)


def main(argv: list[str]) -> int:
    """The verb; prints and returns the exit code."""
    try:
        return _main(argv)
    except GpudbgError as error:
        print(f"gpudbg tesla: {error}", file=sys.stderr)
        return error.exit_code


def _main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help") or "--help" in argv:
        print(USAGE)
        return EXIT_CLEAN if argv else UsageError.exit_code
    verb, rest = argv[0], argv[1:]
    if verb == "run":
        return _run(rest)
    tables = {"methods": method_lines, "notes": provenance.lines}
    if verb not in tables:
        raise UsageError(f"'{verb}' is none of run, methods, notes")
    parse_arguments(rest, words=(0, 0), usage=f"gpudbg tesla {verb}")
    print("\n".join(tables[verb]()))
    return EXIT_CLEAN


def method_lines() -> list[str]:
    """One line a method: offset in each object, name, unit."""

    def offset(value: int | None) -> str:
        return f"0x{value:04x}" if value is not None else "-"

    lines = [f"{'tesla':<7} {'turing':<7} {'unit':<8} method"]
    for row in METHODS:
        name = f"{row.name}[0-{row.count - 1}]" if row.count > 1 else row.name
        aliases = f" ({', '.join(row.aliases)})" if row.aliases else ""
        lines.append(
            f"{offset(row.tesla):<7} {offset(row.turing):<7} {row.unit:<8} {name}{aliases}"
        )
    return lines


def _read_file(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    return read_file(name, MAX_BYTES, "4 MiB")


def _run(argv: list[str]) -> int:
    args = parse_arguments(argv, _RUN, words=(1, 1), usage="gpudbg tesla run FILE")
    path = args.words[0]
    statements = parse(_read_file(path), path, args["object"])
    built = build_machine(args, statements)
    errors = 0
    steps: list[dict[str, Any]] = []
    try:
        for step in run(built, statements, stop=args["stop"], full=args["full"]):
            errors += step["error"] is not None
            if args["json"]:
                steps.append(step)
            else:
                print("\n".join(step_lines(step)))
    except (UsageError, ModelGap) as error:
        if args["json"]:
            _print_json(steps, built)
        raise type(error)(f"{path}: {error}") from error
    if args["json"]:
        _print_json(steps, built)
    else:
        print("\n".join(["", "state at the end:", *state_lines(built.to_json())]))
    return EXIT_FINDINGS if errors else EXIT_CLEAN


def _print_json(steps: list[dict[str, Any]], built: TeslaMachine) -> None:
    print(json.dumps({"steps": steps, "state": built.to_json()}, indent=1))


def build_machine(args: Arguments, statements: list[Statement]) -> TeslaMachine:
    """The machine of the options, changed by the stream's `chipset` and `pmc`."""
    chip, units = machine(args)
    for statement in statements:
        if statement.kind == "set" and statement.obj == "chipset":
            chip = Chip(statement.value)
        elif statement.kind == "set":
            units = Hierarchy.from_pmc(statement.value)
    return TeslaMachine(chip, units)


def run(
    built: TeslaMachine, statements: list[Statement], *, stop: bool = False, full: bool = False
) -> Iterator[dict[str, Any]]:
    """Carry out statements; one JSON-able step each.

    Args:
        built: the machine; changed.
        statements: as parsed.
        stop: end after the first DATA_ERROR.
        full: put the whole state into each step, not only the unit touched.

    Raises:
        ModelGap: a method outside the model.
    """
    for statement in statements:
        step = _step(built, statement)
        if step is None:
            continue
        if full:
            step["state"] = built.to_json()
        yield step
        if stop and step["error"] is not None:
            return


def _step(built: TeslaMachine, statement: Statement) -> dict[str, Any] | None:
    where = {"where": statement.where}
    if statement.kind == "set":
        return None
    if statement.kind != "method":
        try:
            return where | _MEMORY_STEPS[statement.kind](built, statement) | {"error": None}
        except TrapError as trap:
            error = {"code": None, "name": trap.name, "why": trap.why}
            return where | {"effect": "trapped", "error": error}
        except UsageError as error:
            raise UsageError(f"{statement.where}: {error}") from error
    try:
        outcome = built.write(statement.obj, statement.target, statement.value)
    except ModelGap as gap:
        raise ModelGap(f"{statement.where}: {gap}") from gap
    step = where | outcome.to_json()
    step["unit"] = outcome.unit
    step["state"] = built.unit_state(outcome.obj, outcome.method.unit, outcome.index)
    if outcome.launch is not None:
        step["launch"] = launch_json(outcome.launch, built)
    return step


def _place(built: TeslaMachine, statement: Statement, access: str) -> tuple[str, int]:
    """Name and memory address of a place outside c[]."""
    space, number = statement.space
    at = statement.target
    if space == "g":
        return f"g{number}[0x{at:x}]", global_place(built, number, at, access)
    if space == "l":
        who = PhysId.decode(statement.thread)
        name = f"l[0x{at:x}] of TP {who.tp} MP {who.mp} warp {who.warp} lane {who.lane}"
        return name, local_place(built, who, at, access)
    return f"vram[0x{at:x}]", at


def _store(built: TeslaMachine, statement: Statement) -> dict[str, Any]:
    name, address = _place(built, statement, "WRITE")
    built.memory.write(address, statement.value)
    place = f" at 0x{address:010x}" if statement.space[0] != "vram" else ""
    effect = f"{name}{place} = 0x{statement.value:08x}"
    if address in built.consts.stale():
        effect += "; the const cache still holds the old word"
    return {"effect": effect, "address": address, "value": statement.value}


def _read(built: TeslaMachine, statement: Statement) -> dict[str, Any]:
    if statement.space[0] == "c":
        number, at = statement.space[1], statement.target
        value = built.consts.read(statement.obj, number, at, 4)
        return {
            "effect": f"{statement.obj}.c{number}[0x{at:x}] reads 0x{value:08x}",
            "value": value,
        }
    name, address = _place(built, statement, "READ")
    value = built.memory.read(address)
    place = f" at 0x{address:010x}" if statement.space[0] != "vram" else ""
    return {"effect": f"{name}{place} reads 0x{value:08x}", "address": address, "value": value}


def _push(built: TeslaMachine, statement: Statement) -> dict[str, Any]:
    who = PhysId.decode(statement.thread)
    found = push(built, who, statement.obj, statement.target, statement.value)
    return {"effect": _stack_effect("pushed", found)} | found


def _pop(built: TeslaMachine, statement: Statement) -> dict[str, Any]:
    found = pop(built, PhysId.decode(statement.thread))
    return {"effect": _stack_effect("popped", found)} | found


def _stack_effect(verb: str, found: dict[str, Any]) -> str:
    entry = found["entry"]
    moved = "".join(f"; {event}" for event in found["events"])
    return (
        f"{verb} {entry['type_name']} to {entry['target_hex']} as entry {entry['entry']}, "
        f"depth {found['depth']}{moved}"
    )


_MEMORY_STEPS = {"store": _store, "read": _read, "push": _push, "pop": _pop}


def launch_json(config: TeslaLaunch, built: TeslaMachine) -> dict[str, Any]:
    """A launch by name: order of blocks, threads of a block, initial shared memory, placement."""
    first = next(config.blocks(), None)
    threads = [config.thread(i) for i in range(min(config.threads, SHOWN_THREADS))]
    blocks = [list(block) for block, _ in zip(config.blocks(), range(SHOWN_BLOCKS), strict=False)]
    wave = zip(config.place(built.chip, built.units), range(SHOWN_BLOCKS), strict=False)
    return config.to_json() | {
        "block_order": blocks,
        "threads": [thread.to_json() for thread in threads],
        "shared": config.shared_header(first).hex() if first is not None else "",
        "resident_blocks_per_mp": config.resident_blocks(built.chip),
        "first_wave": [placement.to_json() for placement, _ in wave],
    }


def step_lines(step: dict[str, Any]) -> list[str]:
    """A step as text."""
    name = f"{step['object']}.{step['method']} = {step['value_hex']}: " if "method" in step else ""
    lines = [f"{step['where']}: {name}{step['effect']}"]
    if step["error"]:
        error = step["error"]
        kind = "TRAP" if error["code"] is None else f"DATA_ERROR 0x{error['code']:02x}"
        lines.append(f"    {kind} {error['name']}: {error['why']}")
    if "unit" in step and "hierarchy" not in step["state"]:
        lines.append(f"    {step['unit']}: {_flat(step['state'])}")
    elif "state" in step:
        lines += [f"    {line}" for line in state_lines(step["state"])]
    if "launch" in step:
        lines += launch_lines(step["launch"])
    return lines


def launch_lines(launch: dict[str, Any]) -> list[str]:
    """A launch as text: block order, the first threads of a block, shared memory."""
    order = " ".join("({},{})".format(*block) for block in launch["block_order"][:SHOWN_LINES])
    more = launch["blocks"] - SHOWN_LINES
    lines = [f"    blocks (x,y): {order}{f' and {more} more' if more > 0 else ''}"]
    lines.append(f"    shared memory of the first block: {launch['shared']}")
    lines.append("    tid.x tid.y tid.z  warp lane  $r0")
    for thread in launch["threads"][:SHOWN_LINES]:
        x, y, z = thread["tid"]
        lines.append(
            f"    {x:>5} {y:>5} {z:>5}  {warp_letter(thread['warp']):>4} {thread['lane']:>4x}"
            f"  {thread['r0_hex']}"
        )
    hidden = launch["threads_per_block"] - min(SHOWN_LINES, len(launch["threads"]))
    if hidden > 0:
        lines.append(f"    ... {hidden} more threads")
    if launch["cut_off"]:
        lines.append(f"    {launch['cut_off']} threads cut off by THREADS_PER_BLOCK")
    for spot in launch["first_wave"][:4]:
        lines.append(
            "    block ({},{}) on TP {} MP {} as warps {} (modelled)".format(
                *spot["block"], spot["tp"], spot["mp"], ", ".join(map(str, spot["warps"]))
            )
        )
    return lines


def _flat(state: dict[str, Any]) -> str:
    return ", ".join(f"{key} {_value(key, value)}" for key, value in state.items())


def _value(key: str, value: Any) -> str:
    if isinstance(value, dict):
        return "{" + _flat(value) + "}"
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    return f"0x{value:x}" if key in HEX_KEYS or key.startswith("dma_") else str(value)


HEX_KEYS = frozenset(
    {"address", "base", "start", "pitch", "limit", "mode", "offset", "def_address", "size",
     "shared_size", "tp_mask", "mp_mask", "pmc_1540", "chipset"}
)  # fmt: skip


def state_lines(state: dict[str, Any]) -> list[str]:
    """A whole state as text, one line a unit."""
    return [f"{unit}: {_flat(held)}" for unit, held in state.items()]
