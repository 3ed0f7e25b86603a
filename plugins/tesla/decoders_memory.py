"""`gpudbg decode local` and `stack`: addresses in both directions, entries, dumps."""

from __future__ import annotations

from typing import Any

from gpudbg.errors import UsageError
from gpudbg.plugin import Arguments, Decoded, Option, decoder, parse_int, text, unsigned

from .files import read_file
from .mangle import (
    LocalLayout,
    Owner,
    StackLayout,
    halfwarps_of,
    size_of_log,
    stack_entries,
)
from .models import owner_json
from .options import MACHINE, PROGRAM, THREAD, machine, thread
from .stack import TYPE_CODES, TYPE_MEANINGS, DumpRow, TeslaStackEntry, list_dump

MAX_DUMP = 1 << 28

_LOCAL = (
    *MACHINE,
    *THREAD,
    PROGRAM,
    Option("--addr", unsigned(16), None, "l[] address"),
    Option("--warp-halves-method", unsigned(32), 2, "value of WARP_HALVES (0x19a0 / 0x3b8)"),
    Option("--local-warps-log-alloc", unsigned(32), 7, "LOCAL_WARPS_LOG_ALLOC, 0-4 or 7"),
    Option("--no-clamp", unsigned(32), 1, "LOCAL_WARPS_NO_CLAMP, 0 or 1"),
    Option("--local-size-log", unsigned(32), None, "LOCAL_SIZE_LOG, to check bounds"),
    Option("--size", unsigned(8), None, "bytes of the access; lists the places it touches"),
    Option("--base", unsigned(40), 0, "LOCAL_ADDRESS; addresses are then absolute"),
)
_STACK = (
    *MACHINE,
    *THREAD[:-1],
    Option("--entry", unsigned(32), None, "stack entry number"),
    Option("--stack-warps-log-alloc", unsigned(32), 7, "STACK_WARPS_LOG_ALLOC, 0-4 or 7"),
    Option("--no-clamp", unsigned(32), 1, "STACK_WARPS_NO_CLAMP, 0 or 1"),
    Option("--stack-size-log", unsigned(32), None, "STACK_SIZE_LOG, to check bounds"),
    Option("--base", unsigned(40), 0, "STACK_ADDRESS; addresses are then absolute"),
    Option("--dump", text, None, "file with stack memory, from --base on"),
    Option("--offset", unsigned(32), 0, "segment-relative address of the dump's first byte"),
    Option("--encode", text, None, "entry type to encode: " + ", ".join(TYPE_CODES)),
    Option("--target", unsigned(32), 0, "return or rejoin address for --encode"),
    Option("--mask", unsigned(32), 0xFFFFFFFF, "active lanes for --encode"),
)


def _relative(word: str, base: int) -> int:
    address = parse_int(word, "address")
    if not 0 <= address - base < 1 << 32:
        raise UsageError(f"address {word} is not within 4 GiB above the base 0x{base:x}")
    return address - base


def _owner_text(owner: Owner | None) -> str:
    if owner is None:
        return "nobody: the hole left by rounding the TP count up to a power of two"
    who = f"TP {owner.tp}, MP {owner.mp}, warp {owner.warp}"
    if not owner.warps:
        return f"{who} (no such warp on this chip)"
    if len(owner.warps) > 1:
        return f"{who} (aliased by warps {', '.join(map(str, owner.warps))})"
    return who


@decoder(
    usage="ADDRESS | --addr N [--physid N | --tp N --mp N --warp N --lane N]",
    options=_LOCAL,
    words=(0, 1),
)
def local(args: Arguments) -> Decoded:
    """Local memory in both directions."""
    chip, units = machine(args)
    layout = LocalLayout.make(
        chip,
        units,
        halfwarps=halfwarps_of(args["warp_halves_method"], args["program"]),
        log_alloc=args["local_warps_log_alloc"],
        no_clamp=args["no_clamp"],
    )
    if bool(args.words) == (args["addr"] is not None):
        raise UsageError("give either an address or --addr with a thread")
    data: dict[str, Any] = {
        "kind": "local",
        **layout.group.to_json(),
        "program": args["program"],
        "warp_halves_method": args["warp_halves_method"],
        "halfwarps": layout.halfwarps,
        "local_warps_log_alloc": args["local_warps_log_alloc"],
        "no_clamp": args["no_clamp"],
    }
    if args["local_size_log"] is not None:
        data["local_size_log"] = args["local_size_log"]
        data["allocation_bytes"] = layout.size(args["local_size_log"])
    return _local_position(args, layout, data) if args.words else _local_address(args, layout, data)


def _check_size(args: Arguments, addr: int) -> None:
    if args["local_size_log"] is None:
        return
    limit = size_of_log(args["local_size_log"], 16)
    if addr >= limit:
        raise UsageError(f"l[0x{addr:x}] is beyond the {limit} bytes per thread of LOCAL_SIZE_LOG")


def _local_address(args: Arguments, layout: LocalLayout, data: dict[str, Any]) -> Decoded:
    who = thread(args)
    spot = (args["addr"], who.lane, who.warp, who.mp, who.tp)
    _check_size(args, args["addr"])
    address, literal = layout.address(*spot), layout.literal_c(*spot)
    runs = layout.group.runs(who.warp)
    data |= dict(zip(("addr", "lane", "warp", "mp", "tp"), spot, strict=True))
    data |= {
        "warp_runs": runs,
        "address": address,
        "address_hex": f"0x{address:08x}",
        "literal_c": literal,
        "literal_c_hex": f"0x{literal:08x}",
        "literal_differs": literal != address,
    }
    lines = [
        f"l[0x{args['addr']:x}] of TP {who.tp}, MP {who.mp}, warp {who.warp}, lane {who.lane} "
        f"is at 0x{args['base'] + address:08x}"
    ]
    if args["size"] is not None:
        places = layout.words(args["addr"], args["size"], *spot[1:])
        data["words"] = places
        lines.append("touches " + ", ".join(f"0x{args['base'] + place:08x}" for place in places))
    lines += _running(layout.group.runs(who.warp), who.warp, layout.group.warp_slots)
    if who.warp >= layout.group.chip.warps_per_mp:
        lines.append(f"note: this chip has {layout.group.chip.warps_per_mp} warps per MP")
    if literal != address:
        lines.append(f"(the notes' C expression, read by C's precedence, gives 0x{literal:08x})")
    return Decoded(data, lines)


def _running(runs: bool, warp: int, slots: int) -> list[str]:
    if not runs:
        return [f"warp {warp} does not run: {slots} warps fit and NO_CLAMP is 0"]
    if warp >= slots:
        return [f"warp {warp} aliases warp {warp % slots}: {slots} warps fit and NO_CLAMP is 1"]
    return []


def _local_position(args: Arguments, layout: LocalLayout, data: dict[str, Any]) -> Decoded:
    address = _relative(args.words[0], args["base"])
    found = layout.position(address)
    _check_size(args, found.addr)
    data |= {"address": address, "address_hex": f"0x{address:08x}"}
    data |= {"addr": found.addr, "lane": found.lane, **owner_json(found.owner)}
    return Decoded(
        data,
        [
            f"0x{args['base'] + address:08x} is l[0x{found.addr:x}] of lane {found.lane}, "
            f"{_owner_text(found.owner)}"
        ],
    )


@decoder(
    usage="ADDRESS | WORD0 WORD1 [--entry N] | --entry N --warp N --mp N --tp N | --dump FILE "
    "| --encode TYPE --target N --entry N --warp N",
    options=_STACK,
    words=(0, 2),
)
def stack(args: Arguments) -> Decoded:
    """Stack memory and entries in both directions, and dumps."""
    if args["encode"] is not None:
        return _encode_entry(args)
    if len(args.words) == 2:
        return _decode_entry(args)
    chip, units = machine(args)
    layout = StackLayout.make(
        chip, units, log_alloc=args["stack_warps_log_alloc"], no_clamp=args["no_clamp"]
    )
    data: dict[str, Any] = {
        "kind": "stack",
        **layout.group.to_json(),
        "stack_warps_log_alloc": args["stack_warps_log_alloc"],
        "no_clamp": args["no_clamp"],
    }
    if args["stack_size_log"] is not None:
        data["stack_size_log"] = args["stack_size_log"]
        data["allocation_bytes"] = layout.size(args["stack_size_log"])
    choices = [bool(args.words), args["dump"] is not None, args["entry"] is not None]
    if sum(choices) != 1:
        raise UsageError("give one of: an address, an entry's two words, --entry, --dump")
    if args.words:
        return _stack_position(args, layout, data)
    return _dump(args, layout, data) if args["dump"] is not None else _at(args, layout, data)


def _entry_limit(args: Arguments, entry: int) -> None:
    if args["stack_size_log"] is None:
        return
    limit = stack_entries(args["stack_size_log"])
    if entry >= limit:
        raise UsageError(f"entry {entry} is beyond the {limit} entries of STACK_SIZE_LOG")


def _at(args: Arguments, layout: StackLayout, data: dict[str, Any]) -> Decoded:
    who = thread(args, lane=False)
    _entry_limit(args, args["entry"])
    address = layout.address(args["entry"], who.warp, who.mp, who.tp)
    data |= {
        "entry": args["entry"],
        "warp": who.warp,
        "mp": who.mp,
        "tp": who.tp,
        "warp_runs": layout.group.runs(who.warp),
        "address": address,
        "address_hex": f"0x{address:08x}",
        "literal_c": address,
        "literal_c_hex": f"0x{address:08x}",
        "literal_differs": False,
    }
    lines = [
        f"entry {args['entry']} of TP {who.tp}, MP {who.mp}, warp {who.warp} is at "
        f"0x{args['base'] + address:08x} (block {args['entry'] // 4}, slot {args['entry'] % 4})"
    ]
    return Decoded(data, lines + _running(data["warp_runs"], who.warp, layout.group.warp_slots))


def _stack_position(args: Arguments, layout: StackLayout, data: dict[str, Any]) -> Decoded:
    address = _relative(args.words[0], args["base"])
    found = layout.position(address)
    _entry_limit(args, found.entry)
    data |= {"address": address, "address_hex": f"0x{address:08x}"}
    data |= {"entry": found.entry, "byte": found.byte, **owner_json(found.owner)}
    return Decoded(
        data,
        [
            f"0x{args['base'] + address:08x} is byte {found.byte} of entry {found.entry}, "
            f"{_owner_text(found.owner)}"
        ],
    )


def _entry_lines(entry: TeslaStackEntry, oddities: list[str]) -> list[str]:
    meaning = TYPE_MEANINGS.get(entry.type)
    return [
        f"{entry.type_name}{f' ({meaning})' if meaning else ''}: to 0x{entry.target:06x}, "
        f"warp {entry.warp}, lanes 0x{entry.mask:08x}",
        *(f"note: {oddity}" for oddity in oddities),
    ]


def _decode_entry(args: Arguments) -> Decoded:
    word0, word1 = (
        parse_int(word, name, 32) for word, name in zip(args.words, ("word0", "word1"), strict=True)
    )
    entry = TeslaStackEntry.decode(word0, word1, args["entry"])
    oddities = entry.oddities(word0, args["warp"])
    data = entry.to_json() | {
        "kind": "stack_entry",
        "words": [f"0x{word0:08x}", f"0x{word1:08x}"],
        "entry_bits_2_1": word0 >> 22 & 3,
        "oddities": oddities,
    }
    if args["entry"] is None:
        data["entry"] = None
    lines = _entry_lines(entry, oddities)
    low = (word0 >> 22 & 3) << 1
    lines.append(f"bits 2:1 of the entry's number: {word0 >> 22 & 3} (entry {low}, {low + 1}, ...)")
    return Decoded(data, lines)


def _encode_entry(args: Arguments) -> Decoded:
    if args.words or args["dump"] is not None:
        raise UsageError("--encode takes options only")
    if args["encode"] not in TYPE_CODES:
        raise UsageError(f"no stack entry type '{args['encode']}'", ", ".join(TYPE_CODES))
    number, warp = args["entry"] or 0, thread(args, lane=False).warp
    entry = TeslaStackEntry(TYPE_CODES[args["encode"]], args["target"], number, warp, args["mask"])
    words = [f"0x{word:08x}" for word in entry.encode()]
    data = entry.to_json() | {"kind": "stack_entry", "words": words}
    return Decoded(data, [" ".join(words)])


def _dump(args: Arguments, layout: StackLayout, data: dict[str, Any]) -> Decoded:
    rows = list_dump(
        read_file(args["dump"], MAX_DUMP, "256 MiB"),
        layout,
        path=args["dump"],
        warp=args["warp"],
        mp=args["mp"],
        tp=args["tp"],
        base=args["offset"],
    )
    data["entries"] = [row.to_json() for row in rows]
    return Decoded(data, dump_lines(rows, args["base"]) or ["no entries"])


def dump_lines(rows: list[DumpRow], base: int = 0) -> list[str]:
    """The listing of a dump: a heading for each warp, a line for each entry."""
    lines, held = [], None
    for row in rows:
        who = (row.tp, row.mp, row.entry.warp)
        if who != held:
            lines.append("TP {} MP {} warp {}:".format(*who))
            held = who
        entry = row.entry
        notes = f"  [{'; '.join(row.oddities)}]" if row.oddities else ""
        lines.append(
            f"  #{entry.number:<4} block {entry.number // 4:<3} 0x{base + row.address:08x}  "
            f"{entry.type_name:<12} 0x{entry.target:06x}  lanes 0x{entry.mask:08x}{notes}"
        )
    return lines
